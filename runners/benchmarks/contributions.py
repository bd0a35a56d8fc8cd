"""Records that users measured on their own machines, kept under their names.

A user who may read a version's files may contribute a record of them. Its sums are recomputed, its
fields must not contradict each other, its files must be those of the version, and its challenge
must be of this hub. The samples themselves cannot be verified: so results are trusted only with the
signature of an enrolled worker, and are shown separately otherwise.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from hub.protocol import problems
from registry.core import events, parsing
from registry.core.permissions import can, require_user
from registry.models import Event, File, User, Variant, Version
from registry.versions import lifecycle
from registry.versions import selectors as registry
from registry.versions.services import derivatives
from runners.benchmarks import challenges, enrolment, record_checks, record_consistency, records
from runners.engine.benchmark import rules
from runners.engine.benchmark.releases import RELEASES
from runners.engine.benchmark.typed_record import Record
from runners.models import Measurement
from runners.queue.selectors import live_workers

if TYPE_CHECKING:
    from registry.core.permissions import Actor

# Maximum size of a contributed record in bytes, about 800 000 samples.
MOST_BYTES = 8 << 20
# Number of records of one user, and of all users, whose files one version keeps. A file of a
# published version is never deleted, so deleting a result makes no room for another.
_OF_ONE, _OF_ALL = 20, 500
_ADDED = "benchmark.added"


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of an enrolled worker, and its signature, in base64url."""

    worker: str
    value: str


def contribute(
    actor: Actor,
    *,
    version: Version,
    text: str,
    variant: str = "",
    signature: Signature | None = None,
) -> list[Measurement]:
    """Keep a user's record, which is ``text`` as JSON.

    Returns its results, or the existing ones if it was sent before. Raises NotAuthenticated,
    AccessNeeded, StateConflict, InvalidRequest, RecordInvalid, TextTooCostly, VariantMissing,
    QuotaExceeded and Unavailable.
    """
    user = require_user(actor, "read", of=version.model)
    record, whole = _read(user, version, text)
    if record.provider.runtime == rules.PAGE:
        raise record_consistency.refusal(
            "provider.runtime",
            "browser runs must be contributed from the page that made them",
            rule="runtime",
            cure="Use the Run page of the version.",
        )
    for part in record.parts:
        _expect_release(part)
    row = _measured_variant(version, record, variant)
    worker = None
    if signature is not None:
        worker = enrolment.signer(user, record, signature.worker, signature.value)
    trust = Measurement.Trust.UNVERIFIED if worker is None else Measurement.Trust.ENROLLED
    signed: dict[str, Any] = {
        "trust": trust,
        "enrolled_worker": worker,
        "signature": signature.value if signature else "",
    }
    return _keep(user, version, row, record, whole.encode("ascii"), **signed)


def contribute_page_run(
    actor: Actor, *, version: Version, text: str, variant: str
) -> list[Measurement]:
    """Keep a record that this hub made from the measurements of a page; raises as `contribute`.

    It has no challenge and is never trusted.
    """
    user = require_user(actor, "read", of=version.model)
    record, whole = _read(user, version, text)
    row = _measured_variant(version, record, variant)
    return _keep(
        user,
        version,
        row,
        record,
        whole.encode("ascii"),
        with_challenge=False,
        trust=Measurement.Trust.UNVERIFIED,
    )


def _read(user: User, version: Version, text: str) -> tuple[Record, str]:
    registry.require_files(user, version.model)
    registry.require_served(version, "versions can have benchmarks")
    data, whole = parsing.run(record_consistency.read, text)
    return Record.read(data), whole


def _expect_release(record: Record) -> None:
    """Raise RecordInvalid unless the runtime's version was released, or a worker here runs it."""
    runtime, runtime_version = record.provider.runtime, record.runtime_version
    releases = RELEASES.get(runtime, frozenset())
    if runtime_version in releases:
        return
    if not any(
        worker.typed_features.versions.get(runtime) == runtime_version for worker in live_workers()
    ):
        raise record_consistency.refusal(
            "environment.runtime_version",
            f"{runtime} has no release {runtime_version[:40]!r} that this hub knows",
            rule="runtime-version",
            cure=f"Measure with a released version, such as {max(releases, default='none')}.",
        )


@transaction.atomic
def remove(actor: Actor, *, version: Version, row: Measurement) -> None:
    """Delete a contributed result, for its contributor and maintainers. Raises NotAllowed.

    Its record stays among the version's files, as every file of a published version does.
    """
    user = require_user(actor, "write", of=version.model)
    if not row.is_contributed:
        raise problems.StateConflict(
            "Results measured by this hub cannot be removed, only contributed ones."
        )
    if row.contributor_id != user.pk and not can(actor, "version.derive", version.model):
        raise problems.NotAllowed(
            "Only the contributor or a maintainer of the namespace may remove this result."
        )
    same = Measurement.objects.filter(variant=row.variant_id, record_sha256=row.record_sha256)
    same.filter(contributor=row.contributor_id).delete()
    events.record("benchmark.removed", version, actor=actor, model=version.model)


@transaction.atomic
def _keep(
    user: User,
    version: Version,
    variant: Variant,
    record: Record,
    content: bytes,
    *,
    with_challenge: bool = True,
    **whose: Any,
) -> list[Measurement]:
    version = lifecycle.lock(version)
    registry.require_served(version, "versions can have benchmarks")
    sha256 = hashlib.sha256(content).hexdigest()
    mine = Measurement.objects.filter(
        variant__version=version, origin=Measurement.Origin.CONTRIBUTED
    )
    same = mine.filter(variant=variant, record_sha256=sha256).order_by("ordinal")
    if rows := list(same):
        return rows
    if with_challenge:
        challenges.expect(user, version, record)
    _expect_room(version, user, sha256)
    stored, _ = derivatives.store_bytes(io.BytesIO(content))
    file = derivatives.attach_evidence(
        version=version,
        manifest_sha256=version.manifest_sha256,
        folder=records.FOLDER,
        output=derivatives.Output(record_checks.RECORD, stored),
    )
    rows = records.rows_of(
        record,
        variant,
        origin=Measurement.Origin.CONTRIBUTED,
        contributor=user,
        **whose,
        record_sha256=sha256,
        record_file=file,
    )
    Measurement.objects.bulk_create(rows)
    events.record(_ADDED, version, actor=user, model=version.model, record_sha256=sha256)
    return rows


def _expect_room(version: Version, user: Any, sha256: str) -> None:
    """Raise QuotaExceeded if the limit of records is reached; events tell who sent how many."""
    if File.objects.filter(version=version, blob=sha256).exists():
        return
    added = Event.objects.filter(verb=_ADDED, subject_kind="version", subject_id=str(version.pk))
    sent = added.filter(actor__isnull=False).order_by().values("data__record_sha256").distinct()
    if sent.filter(actor=user).count() >= _OF_ONE or sent.count() >= _OF_ALL:
        raise problems.QuotaExceeded(
            f"A version can have {_OF_ONE} records from one user and {_OF_ALL} in total, "
            "including removed ones, whose files are kept."
        )


def _measured_variant(version: Version, record: Record, name: str) -> Variant:
    """The variant that a record measured: its file, and external data, must be of this version."""
    sha256, digests = record.entry_sha256, record.file_digests
    variant: Variant | None
    if name:
        variant = registry.variant(version, name, None, None)
    else:
        rows = Variant.objects.filter(version=version, entry__blob=sha256)
        variant = rows.select_related("entry").first()
    if variant is None:
        raise _of_other("model.sha256", f"{version.ref} has no variant of this file")
    if variant.entry.blob_id != sha256:
        raise _of_other("model.sha256", f"the variant {variant.name} is another file")
    files = File.objects.filter(version=version, blob__in=digests)
    if digests - set(files.values_list("blob", flat=True)):
        raise _of_other("model.files", f"{version.ref} does not have all of these files")
    return variant


def _of_other(where: str, words: str) -> problems.RecordInvalid:
    cure = "Send the record to the version it was measured on, and name its variant."
    return record_consistency.refusal(where, words, rule="model", cure=cure)
