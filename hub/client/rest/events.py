"""The REST operations of events, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from hub.client.rest.calls import Group


@dataclass(frozen=True, kw_only=True)
class Event:
    """Who did what, when, and in which request."""

    # higher for later events
    id: int
    at: datetime
    # null for what the hub did by itself
    actor: str | None = None
    # such as version.published
    verb: str
    # such as version
    subject_kind: str
    # key of the subject among its kind
    subject_id: str
    model: str | None = None
    # the X-Request-Id of the response, which logs name too; empty for what no request did
    request_id: str
    # details, which depend on the verb
    data: Any


class EventsGroup(Group):
    """The operations of events."""

    def list(
        self,
        *,
        actor: Annotated[str | None, "only what this user did"] = None,
        model: Annotated[str | None, "only events of this model, such as zoo/digits"] = None,
        request_id: Annotated[str | None, "only what this request did"] = None,
        since: Annotated[datetime | str | None, "only events at or after this time"] = None,
        subject: Annotated[
            str | None, "only events of this kind of subject, or of one subject: user or user/12"
        ] = None,
        until: Annotated[datetime | str | None, "only events before this time"] = None,
        verb: Annotated[str | None, "only this verb, such as version.published"] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Event]:
        """List events, newest first; for administrators."""
        return self._pages(
            Event,
            "events",
            query={
                "actor": actor,
                "model": model,
                "request_id": request_id,
                "since": since,
                "subject": subject,
                "until": until,
                "verb": verb,
            },
            limit=limit,
        )
