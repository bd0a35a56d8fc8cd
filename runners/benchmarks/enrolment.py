"""Enrolled workers: machines outside this hub whose keys sign contributions of their owners."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import federated, problems
from hub.protocol.signatures import benchmark_statement
from registry.core import events
from registry.core.permissions import Actor, require_admin
from registry.models import User, Version
from runners.engine.benchmark.typed_record import Record
from runners.models import EnrolledWorker, Measurement

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST = 64


def every(actor: Actor) -> QuerySet[EnrolledWorker]:
    """The enrolled workers, revoked ones included, by name; for administrators."""
    require_admin(actor)
    return EnrolledWorker.objects.select_related("owner").order_by("name")


@transaction.atomic
def enrol(actor: Actor, *, name: str, owner: str, public_key: str) -> EnrolledWorker:
    """Enrol a worker, whose key signs contributions of the user ``owner``; for administrators.

    Raises NotAuthenticated, NotAllowed, NameTaken, and InvalidRequest for a name or a key of
    another form.
    """
    by = require_admin(actor)
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise problems.InvalidRequest.at(
            "/name",
            f"A name consists of at most {_LONGEST} lower-case letters, digits and single hyphens.",
        )
    federated.parse_public_key(public_key)
    user = problems.expect(
        User.objects.filter(username=owner, is_active=True).first(),
        problems.InvalidRequest.at("/owner", "User not found."),
    )
    try:
        with transaction.atomic():
            return EnrolledWorker.objects.create(
                name=name, owner=user, public_key=public_key, enrolled_by=by
            )
    except IntegrityError:
        raise problems.NameTaken(
            f"A worker with the name {name} or with this key is already enrolled."
        ) from None


@transaction.atomic
def revoke(actor: Actor, *, name: str) -> EnrolledWorker:
    """Revoke a worker, and the trust in what it signed before; for administrators.

    Raises NotAuthenticated, NotAllowed, NotFound.
    """
    require_admin(actor)
    worker = problems.expect(
        EnrolledWorker.objects.select_for_update().filter(name=name).first(),
        problems.NotFound(f"Enrolled worker {name[:_LONGEST]} not found."),
    )
    if worker.revoked_at is None:
        worker.revoked_at = timezone.now()
        worker.save(update_fields=["revoked_at"])
        signed = Measurement.objects.filter(enrolled_worker=worker).values("variant__version")
        for version in Version.objects.filter(pk__in=signed).select_related("model"):
            events.record("benchmark.revoked", version, actor=actor, model=version.model)
    return worker


def signer(user: User, record: Record, worker: str, signature: str) -> EnrolledWorker:
    """The worker that signed a record; raises RecordInvalid.

    ``worker`` is its name and ``signature`` that of `benchmark_statement`, in base64url.
    """
    signer = EnrolledWorker.objects.filter(name=worker, revoked_at=None).first()
    words = ""
    if signer is None:
        words = f"no worker {worker[:_LONGEST]!r} is enrolled"
    elif signer.owner_id != user.pk:
        words = f"the worker {signer.name} belongs to another user"
    elif not _is_signed(record, signature, signer.public_key):
        words = f"the signature does not match this record and the key of {signer.name}"
    if words or signer is None:
        raise problems.RecordInvalid.at(
            "/Hub-Signature",
            f"Hub-Signature: {words}. Use `hub bench --contribute --key FILE --worker NAME` to "
            "sign the record, or send no signature.",
        )
    return signer


def _is_signed(record: Record, signature: str, key: str) -> bool:
    try:
        return federated.verify(benchmark_statement(record.content_sha256), signature, key)
    except problems.InvalidRequest:
        return False
