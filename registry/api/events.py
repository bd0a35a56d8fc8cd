"""What happened on the hub, for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from registry.api.operations import View, rows
from registry.api.outputs import Column, Columns, Output, Shape
from registry.models import Event
from registry.people import audit_log

# What events and entries of the security log alike can be asked for.
CONDITIONS = (
    Column("actor", max_length=150, help_text="only what this user did"),
    Column(
        "subject",
        max_length=61,
        help_text="only events of this kind of subject, or of one subject: user or user/12",
    ),
    Column("model", max_length=200, help_text="only events of this model, such as zoo/digits"),
    Column("request_id", max_length=64, help_text="only what this request did"),
    Column("since", kind=datetime, help_text="only events at or after this time"),
    Column("until", kind=datetime, help_text="only events before this time"),
)


class EventsQuery(Shape[Any]):
    """Conditions that an event meets."""

    columns = Columns(
        Column("verb", max_length=40, help_text="only this verb, such as version.published"),
        *CONDITIONS,
        required=False,
    )


class EventOutput(Output[Event]):
    """Who did what, when, and in which request."""

    columns = Columns(
        Column("id", help_text="higher for later events"),
        "at",
        Column("actor", "actor.username", help_text="null for what the hub did by itself"),
        Column("verb", help_text="such as version.published"),
        Column("subject_kind", help_text="such as version"),
        Column("subject_id", help_text="key of the subject among its kind"),
        Column("model", "model.ref"),
        Column(
            "request_id",
            help_text="the X-Request-Id of the response, which logs name too; empty for what no "
            "request did",
        ),
        Column("data", help_text="details, which depend on the verb"),
    )


class Events(View):
    """The audit log of the hub."""

    index = rows(
        "events_list",
        audit_log.events,
        "List events, newest first; for administrators.",
        EventOutput,
        EventsQuery,
        by="pk",
    )
