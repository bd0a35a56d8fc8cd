"""The security log, as administrators read it."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet

from hub.protocol import problems
from registry.core import event_verbs, security_log
from registry.core.permissions import Actor, require_admin, require_user
from registry.identity.models import SecurityEvent, SecurityRetention
from registry.people import audit_log


def kinds() -> list[str]:
    """Every kind of entry, by name."""
    return sorted({*security_log.Kind, *event_verbs.names()})


def entries(
    reader: Actor,
    *,
    actor: str = "",
    kind: str = "",
    subject: str = "",
    model: str = "",
    address: str = "",
    request_id: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[SecurityEvent]:
    """The entries that meet all conditions; raises NotAllowed for all but administrators.

    They are those of `audit_log.events`, with ``kind`` for `verb`, and ``address``.
    """
    require_admin(reader)
    if kind and kind not in kinds():
        raise problems.InvalidRequest.at("/kind", f"The security log has no kind {kind!r}.")
    rows = SecurityEvent.objects.select_related("actor", "model__namespace")
    conditions = audit_log.conditions(
        actor=actor,
        subject=subject,
        model=model,
        request_id=request_id,
        since=since,
        until=until,
    )
    if kind:
        conditions &= Q(kind=kind)
    if address:
        conditions &= Q(address=address)
    return rows.filter(conditions)


def own_entries(reader: Actor, *, kinds: tuple[str, ...]) -> QuerySet[SecurityEvent]:
    """The entries of these kinds about the reader's own account, newest first."""
    user = require_user(reader, "admin")
    return SecurityEvent.objects.filter(actor=user, kind__in=kinds)


def addresses_of(reader: Actor, request_ids: list[str]) -> dict[str, str]:
    """The address that each of these requests came from, as far as the log has it."""
    require_admin(reader)
    rows = SecurityEvent.objects.filter(request_id__in=[key for key in request_ids if key])
    return dict(rows.exclude(address="").values_list("request_id", "address"))


def deleted_before() -> datetime | None:
    """The time before which entries are deleted; None while all are there."""
    return SecurityRetention.objects.values_list("before", flat=True).first()
