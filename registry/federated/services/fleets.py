"""Rolling a version out to a fleet in steps, and halting where too many devices fail."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.federated.models import Fleet, FleetDevice
from registry.models import RegisteredModel, Version
from registry.people.services.tokens import digest

TOKEN_PREFIX = "ff_"  # noqa: S105 - how such tokens begin
# Fewer reports than this say nothing of a rate.
LEAST_REPORTS = 5


@transaction.atomic
def create(
    actor: Actor, *, model: RegisteredModel, name: str, halt_percent: int = 0
) -> tuple[Fleet, str]:
    """Make a fleet; returns it with the token of its devices, which is stored nowhere.

    Raises NotAllowed, NameTaken.
    """
    require(actor, "training.manage", model)
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            fleet = Fleet.objects.create(
                model=model,
                name=name,
                halt_percent=halt_percent,
                token_digest=digest(token),
                created_by=require_user(actor, of=model),
            )
    except IntegrityError as error:
        raise problems.NameTaken.at("/name", f"{model.ref} already has a fleet {name}.") from error
    events.record("fleet.created", fleet, actor=actor, model=model, name=name)
    return fleet, token


@transaction.atomic
def desire(
    actor: Actor,
    *,
    fleet: Fleet,
    version: Version,
    percent: int = 100,
    required_by: datetime | None = None,
) -> Fleet:
    """Roll out a published version to a share of a fleet; a halted rollout continues.

    A new version takes the place of the one before, which the rest keeps once it had reached
    everyone, unless it was yanked since. Raises NotAllowed, StateConflict.
    """
    require(actor, "training.manage", fleet.model)
    if version.state != Version.State.PUBLISHED or version.model_id != fleet.model_id:
        raise problems.StateConflict(
            f"{version.ref} is not a published version of {fleet.model.ref}."
        )
    row = lock(fleet, "model", "desired")
    before = runnable(row.desired)
    if before not in (None, version) and row.percent == 100 and not row.is_halted:
        row.stable = before
    row.desired, row.percent, row.required_by = version, percent, required_by
    row.is_halted = False
    row.save()
    events.record(
        "fleet.desired",
        row,
        actor=actor,
        model=row.model,
        number=version.number,
        percent=percent,
    )
    return row


def place_of(fleet: Fleet, device: str) -> int:
    """The step of a device: it is reached when the percentage is above this number."""
    text = f"{fleet.model_id}/{fleet.name}\n{device}".encode()
    return int.from_bytes(hashlib.sha256(text).digest(), "big") % 100


def version_for(fleet: Fleet, device: str) -> Version | None:
    """The version that a device should run; None where there is none.

    A version that was yanked after it was desired is sent to no device: its devices go back to
    the version that the others run, if that is still published.
    """
    stable = runnable(fleet.stable)
    if place_of(fleet, device) >= fleet.percent or fleet.is_halted:
        return stable
    return runnable(fleet.desired) or stable


def runnable(version: Version | None) -> Version | None:
    """The version, if devices may run it: it is published, and was not yanked."""
    is_published = version is not None and version.state == Version.State.PUBLISHED
    return version if is_published else None


def of_shared_token(token: str, name: str) -> Fleet:
    """The fleet of this name that takes a shared token; raises NotAuthenticated."""
    rows = Fleet.objects.select_related("model__namespace", "stable", "desired")
    return problems.expect(
        rows.filter(
            token_digest=digest(token), name=name, has_shared_token=True, model__deleted_at=None
        ).first(),
        problems.NotAuthenticated(
            "This token does not belong to this fleet, or was revoked. Enrol the device with an "
            "invitation."
        ),
    )


@transaction.atomic
def revoke_shared_token(actor: Actor, *, fleet: Fleet) -> None:
    """Refuse the token that all devices share, permanently; enrolled devices go on.

    Raises NotAllowed.
    """
    require(actor, "training.manage", fleet.model)
    Fleet.objects.filter(pk=fleet.pk).update(has_shared_token=False)
    events.record("fleet.token-revoked", fleet, actor=actor, model=fleet.model, name=fleet.name)


@transaction.atomic
def report(*, fleet: Fleet, device: str, running: str, result: str, detail: str = "") -> None:
    """Keep what a device says of itself; too many failures of the desired version halt it.

    At most two rows are written.
    """
    FleetDevice.objects.update_or_create(
        fleet=fleet,
        device=device,
        defaults={
            "running": running,
            "result": result,
            "detail": detail[:500],
            "reported_at": timezone.now(),
        },
    )
    is_new = fleet.desired is not None and running == fleet.desired.manifest_sha256
    if result == FleetDevice.Result.FAILED and is_new and fleet.halt_percent:
        counts = tally(fleet, running)
        reports = counts["ok"] + counts["failed"]
        if reports >= LEAST_REPORTS and counts["failed"] * 100 >= fleet.halt_percent * reports:
            Fleet.objects.filter(pk=fleet.pk, desired=fleet.desired).update(is_halted=True)


def tally(fleet: Fleet, running: str) -> dict[str, Any]:
    """How many devices of a fleet said of a version that it runs, or that it failed."""
    return FleetDevice.objects.filter(fleet=fleet, running=running).aggregate(
        ok=Count("pk", filter=Q(result="ok")), failed=Count("pk", filter=Q(result="failed"))
    )
