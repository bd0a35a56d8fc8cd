"""Joining a training by an invitation, and being suspended or revoked."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from hub.protocol import federated, problems
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.federated.models import Invite, Participant, Training
from registry.federated.services import contributions, evaluations
from registry.federated.services.locking import lock
from registry.people.services.tokens import digest

TOKEN_PREFIX, INVITE_PREFIX = "fp_", "fi_"
LONGEST_DAYS = 366
MOST_USES = 10_000_000
MOST_CAPABILITIES = 4_000


@transaction.atomic
def invite(
    actor: Actor, *, training: Training, uses: int = 1, group: str = "", expires_days: int = 30
) -> tuple[Invite, str]:
    """Create a code for a number of devices, returned only once. Raises NotAllowed, TrainingOver.

    Anyone with the code may join, also a private model's training: it is a secret.
    """
    require(actor, "training.manage", training.model)
    if training.is_over:
        raise problems.TrainingOver(f"{training} is {training.state}.")
    if not 1 <= uses <= MOST_USES:
        raise problems.InvalidRequest.at("/uses", f"Choose 1 to {MOST_USES} devices.")
    if not 1 <= expires_days <= LONGEST_DAYS:
        raise problems.InvalidRequest.at("/expires_days", f"Choose 1 to {LONGEST_DAYS} days.")
    code = INVITE_PREFIX + secrets.token_urlsafe(24)
    row = Invite.objects.create(
        training=training,
        digest=digest(code),
        group=group.strip()[:64],
        uses=uses,
        created_by=require_user(actor, of=training.model),
        expires_at=timezone.now() + timedelta(days=expires_days),
    )
    events.record(
        "training.invited", training, actor=actor, model=training.model, uses=uses, group=row.group
    )
    return row, code


@transaction.atomic
def revoke_invite(actor: Actor, *, training: Training, key: int) -> None:
    """Take an invitation back; who joined by it stays. Raises NotFound."""
    require(actor, "training.manage", training.model)
    count = Invite.objects.filter(training=training, pk=key, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    if not count:
        raise problems.NotFound("Invitation not found. It may have been revoked.")
    events.record("training.uninvited", training, actor=actor, model=training.model)


def admits(training: Training, code: str) -> bool:
    """Whether a code admits a device to a training now."""
    return bool(_open_invites(training, code).exists())


@transaction.atomic
def join(
    *,
    training: Training,
    code: str,
    public_key: str,
    runtime: str = "",
    capabilities: dict[str, Any] | None = None,
    certificate: str = "",
) -> tuple[Participant, str]:
    """Let a device in; returns it with its token, which is stored nowhere.

    ``certificate`` is the SHA-256 of its TLS client certificate, which a proxy verified; from then
    on its requests must come with that one.
    Two rows are written: the invitation's count, and the participant.
    Raises TrainingOver, InviteInvalid, CertificateNeeded, KeyKnown, InvalidRequest.
    """
    federated.parse_public_key(public_key)
    if len(json.dumps(capabilities)) > MOST_CAPABILITIES:
        raise problems.InvalidRequest.at(
            "/capabilities",
            f"Capabilities may have at most {MOST_CAPABILITIES} characters of JSON.",
        )
    if training.is_over:
        raise problems.TrainingOver(f"{training} is {training.state}.")
    used = _open_invites(training, code)
    invitation = used.first()
    if invitation is None or not used.filter(pk=invitation.pk).update(used=F("used") + 1):
        raise problems.InviteInvalid(
            "Unknown, used, expired or revoked invitation. Ask the maintainers of the training "
            "for a new one."
        )
    expect_certificate(training, certificate)
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            participant = Participant.objects.create(
                training=training,
                pseudonym=f"p_{secrets.token_hex(8)}",
                public_key=public_key,
                token_digest=digest(token),
                certificate=certificate,
                group=invitation.group,
                runtime=runtime.strip()[:100],
                capabilities=capabilities or {},
            )
    except IntegrityError as error:
        raise problems.KeyKnown(
            "This public key already takes part in the training. Use its token, or create "
            "another key for another device."
        ) from error
    return participant, token


def expect_certificate(training: Training, certificate: str) -> None:
    """Raise CertificateNeeded where the rules demand a certificate and none was shown."""
    if training.typed_rules.client_certificate and not certificate:
        raise problems.CertificateNeeded(
            "This training requires a TLS client certificate, and this request has none. "
            "Configure a certificate (HUB_CLIENT_CERTIFICATE, or "
            "certificate= of hub.training) and connect by https through the proxy that verifies it."
        )


@transaction.atomic
def edit(
    actor: Actor, *, participant: Participant, state: str = "", certificate: str | None = None
) -> Participant:
    """Suspend, reactivate or permanently revoke a participant; bind it to another certificate.

    The contributions of a removed one to a round not planned yet are rejected, and its reports to
    evaluations that are open count for nothing. An empty
    ``certificate`` lets it come with any, or none. Raises TrainingConflict.
    """
    model = participant.training.model
    require(actor, "training.manage", model)
    lock(participant.training)
    row = Participant.objects.select_for_update().get(pk=participant.pk)
    if certificate is not None:
        row.certificate = certificate.removeprefix("sha256:")
        events.record(
            "participant.certificate", row, actor=actor, model=model, pseudonym=row.pseudonym
        )
    if state:
        if row.state == Participant.State.REVOKED and state != row.state:
            raise problems.TrainingConflict(f"{row.pseudonym} was revoked permanently.")
        row.state = state
        if state == Participant.State.REVOKED:
            row.ended_at = timezone.now()
        if state != Participant.State.ACTIVE:
            contributions.reject_of(row)
            evaluations.reject_of(row)
        events.record(
            f"participant.{state}", row, actor=actor, model=model, pseudonym=row.pseudonym
        )
    row.save(update_fields=["state", "certificate", "ended_at"])
    return row


def _open_invites(training: Training, code: str) -> Any:
    return Invite.objects.filter(
        Q(used__lt=F("uses")),
        training=training,
        digest=digest(code),
        revoked_at=None,
        expires_at__gt=timezone.now(),
    )
