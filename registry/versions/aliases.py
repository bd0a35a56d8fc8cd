"""Where the aliases of a model pointed at any time, who moved them, and why: read from events."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import CharField, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from hub.protocol import problems
from registry.core.permissions import Actor
from registry.models import Event, Ref, RegisteredModel
from registry.models.events import ALIAS_MOVED, ALIAS_VERBS
from registry.versions import selectors


def moves(
    of: RegisteredModel, *, alias: str = "", at: tuple[datetime, datetime] | None = None
) -> QuerySet[Any]:
    """The moves of aliases of a visible model, newest first; those in force during a period.

    Each has the ``number`` of the version that the alias got, the ``previous`` one, None for a new
    alias, and ``until``, when the next move or the deletion ended it, None for the present one.
    """
    events = _of(OuterRef("model")).filter(alias=OuterRef("alias"))
    earlier = events.filter(pk__lt=OuterRef("pk")).order_by("-pk")
    later = events.filter(pk__gt=OuterRef("pk")).order_by("pk")
    rows: QuerySet[Any] = _of(of).filter(verb=ALIAS_MOVED).select_related("actor")
    if alias:
        rows = rows.filter(alias=alias)
    rows = rows.annotate(
        previous=Subquery(earlier.values("number")[:1]), until=Subquery(later.values("at")[:1])
    )
    if at:
        rows = rows.filter(Q(until=None) | Q(until__gt=at[0]), at__lt=at[1])
    return rows.order_by("-pk")


def history(of: RegisteredModel, *, alias: str = "", at: str = "") -> QuerySet[Any]:
    """The moves of a visible model's aliases, newest first; those in force at a day or time.

    Raises InvalidRequest for another text, and NotFound for an alias that there never was.
    """
    rows = moves(of, alias=alias, at=_period(at) if at else None)
    if alias and not _of(of).filter(alias=alias).exists():
        raise problems.NotFound(f"{of.ref} never had an alias {alias}.")
    return rows


def refs(actor: Actor, of: RegisteredModel, *, kind: str = "") -> list[Ref]:
    """The refs of a model, by kind and name; each with ``move``, the last one of an alias."""
    rows = selectors.refs_of(actor, of)
    if kind:
        rows = rows.filter(kind=kind)
    last = {move.alias: move for move in moves(of).filter(until=None)}
    refs = list(rows)
    for ref in refs:
        ref.move = last.get(ref.name) if ref.kind == Ref.Kind.ALIAS else None  # type: ignore[attr-defined]
    return refs


def _of(model: Any) -> Any:
    """What happened to aliases of a model; ``number`` is None for a deletion."""
    return Event.objects.filter(model=model, verb__in=ALIAS_VERBS).annotate(
        alias=Cast(KeyTextTransform("name", "data"), CharField()),
        number=Cast(KeyTextTransform("number", "data"), IntegerField()),
    )


def _period(text: str) -> tuple[datetime, datetime]:
    """A day in UTC as its beginning and end; a time as a period without length."""
    try:
        if len(text) == len("2026-05-03"):
            start = datetime.combine(date.fromisoformat(text), time(), UTC)
            return start, start + timedelta(days=1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise problems.InvalidRequest.at(
            "/at", "Write a day or a time, such as 2026-05-03 or 2026-05-03T12:00:00Z."
        ) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment, moment + timedelta(microseconds=1)
