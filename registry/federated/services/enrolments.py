"""Devices of fleets that enrol with a key pair: each has a token of its own, and its name.

A device proves that it has the private key (Ed25519) when it enrols, and whenever it replaces its
key and token. What it signs is `hub.protocol.fleets.enrolment`.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from hub.protocol import federated, problems
from hub.protocol.fleets import enrolment, rotation
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.federated.models import EnrolledDevice, Fleet, FleetInvite
from registry.federated.services.participants import LONGEST_DAYS, MOST_USES
from registry.people.services.tokens import digest

TOKEN_PREFIX, INVITE_PREFIX = "fd_", "fe_"


@transaction.atomic
def invite(
    actor: Actor, *, fleet: Fleet, uses: int = 1, expires_days: int = 30
) -> tuple[FleetInvite, str]:
    """Create a code for a number of devices, returned only once; raises NotAllowed.

    Whoever has the code may enrol, also in the fleet of a private model: it is a secret.
    """
    require(actor, "training.manage", fleet.model)
    if not 1 <= uses <= MOST_USES:
        raise problems.InvalidRequest.at("/uses", f"Choose 1 to {MOST_USES} devices.")
    if not 1 <= expires_days <= LONGEST_DAYS:
        raise problems.InvalidRequest.at("/expires_days", f"Choose 1 to {LONGEST_DAYS} days.")
    code = INVITE_PREFIX + secrets.token_urlsafe(24)
    row = FleetInvite.objects.create(
        fleet=fleet,
        digest=digest(code),
        uses=uses,
        created_by=require_user(actor, of=fleet.model),
        expires_at=timezone.now() + timedelta(days=expires_days),
    )
    events.record("fleet.invited", fleet, actor=actor, model=fleet.model, uses=uses)
    return row, code


@transaction.atomic
def revoke_invite(actor: Actor, *, fleet: Fleet, key: int) -> None:
    """Take an invitation back; devices that enrolled by it stay. Raises NotAllowed, NotFound."""
    require(actor, "training.manage", fleet.model)
    rows = FleetInvite.objects.filter(fleet=fleet, pk=key, revoked_at=None)
    if not rows.update(revoked_at=timezone.now()):
        raise problems.NotFound("Invitation not found. It may have been revoked.")
    events.record("fleet.uninvited", fleet, actor=actor, model=fleet.model)


@transaction.atomic
def enrol(
    *,
    namespace: str,
    name: str,
    fleet: str,
    code: str,
    device: str,
    public_key: str,
    signature: str,
) -> tuple[EnrolledDevice, str]:
    """Let a device in; returns it with its token, which is stored nowhere.

    The model need not be visible: the code is the right to enrol. Raises InviteInvalid,
    InvalidRequest for a signature that is not of the key, and KeyKnown.
    """
    content = enrolment(f"{namespace}/{name}", fleet, device, code)
    if not federated.verify(content, signature, public_key):
        raise problems.InvalidRequest.at("/signature", "The signature is not by this public key.")
    invitation = _open_invites(namespace, name, fleet, code).first()
    if invitation is None or not (
        FleetInvite.objects.filter(pk=invitation.pk, used__lt=F("uses")).update(used=F("used") + 1)
    ):
        raise problems.InviteInvalid(
            "Unknown, used, expired or revoked invitation. Ask the maintainers of the fleet for a "
            "new one."
        )
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            row = EnrolledDevice.objects.create(
                fleet=invitation.fleet,
                device=device,
                public_key=public_key,
                token_digest=digest(token),
            )
    except IntegrityError as error:
        raise problems.KeyKnown(
            f"The fleet has a device {device} already, or one with this key. Use its token, choose "
            "another name, or ask the maintainers to revoke it."
        ) from error
    events.record(
        "fleet.enrolled", row.fleet, actor=None, model=invitation.fleet.model, device=device
    )
    return row, token


@transaction.atomic
def rotate(*, device: EnrolledDevice, public_key: str, signature: str) -> str:
    """Replace the key and the token of a device; returns the new token.

    ``signature`` is by the present key, over the new one; the former token ends at once. Raises
    InvalidRequest, KeyKnown, and NotAuthenticated for a device that was revoked meanwhile.
    """
    row = EnrolledDevice.objects.select_for_update().get(pk=device.pk)
    if row.revoked_at is not None or row.public_key != device.public_key:
        raise problems.NotAuthenticated("The device was revoked, or its key was replaced already.")
    federated.parse_public_key(public_key)
    content = rotation(device.fleet.model.ref, device.fleet.name, row.device, public_key)
    if not federated.verify(content, signature, row.public_key):
        raise problems.InvalidRequest.at(
            "/signature", "The signature is not by the present key of the device."
        )
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row.public_key, row.token_digest, row.rotated_at = public_key, digest(token), timezone.now()
    try:
        with transaction.atomic():
            row.save(update_fields=["public_key", "token_digest", "rotated_at"])
    except IntegrityError as error:
        raise problems.KeyKnown("Another device of the fleet has this key.") from error
    events.record(
        "fleet.rotated", device.fleet, actor=None, model=device.fleet.model, device=row.device
    )
    return token


@transaction.atomic
def revoke(actor: Actor, *, fleet: Fleet, device: str) -> None:
    """End the token of a device permanently; raises NotAllowed, NotFound."""
    require(actor, "training.manage", fleet.model)
    rows = EnrolledDevice.objects.filter(fleet=fleet, device=device, revoked_at=None)
    if not rows.update(revoked_at=timezone.now()):
        raise problems.NotFound(f"{fleet} has no enrolled device {device}.")
    events.record("fleet.revoked", fleet, actor=actor, model=fleet.model, device=device)


def of_token(token: str) -> EnrolledDevice:
    """The device of a token; raises NotAuthenticated."""
    rows = EnrolledDevice.objects.select_related(
        "fleet__model__namespace", "fleet__stable", "fleet__desired"
    )
    live = rows.filter(revoked_at=None, fleet__model__deleted_at=None)
    return problems.expect(
        live.filter(token_digest=digest(token)).first(),
        problems.NotAuthenticated(
            "Unknown, replaced or revoked token of a device. Enrol it again with an invitation."
        ),
    )


def is_enrolled(fleet: Fleet, device: str) -> bool:
    """Whether a name is that of an enrolled device, which alone speaks for it."""
    rows = EnrolledDevice.objects.filter(fleet=fleet, device=device, revoked_at=None)
    return bool(rows.exists())


def _open_invites(namespace: str, name: str, fleet: str, code: str) -> QuerySet[FleetInvite]:
    return FleetInvite.objects.filter(
        fleet__model__namespace__slug__iexact=namespace,
        fleet__model__name__iexact=name,
        fleet__model__deleted_at=None,
        fleet__name=fleet,
        digest=digest(code),
        revoked_at=None,
        expires_at__gt=timezone.now(),
    ).select_related("fleet__model__namespace")
