"""Records that people measured on their own machines, kept under their names.

Whoever may have a version's files may send what they measured of them. The record's sums are made
again and its files must be those of the version; the samples themselves nobody can check.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any

from django.db import transaction

from hub.protocol import problems
from registry import events, lifecycle, parsing
from registry import selectors as registry
from registry.models import Event, File, Variant
from registry.permissions import can, require_user
from registry.services import derivatives
from runners import measuring, soundness, vetting
from runners.models import Measurement
from runners.verification import RELEASED

if TYPE_CHECKING:
    from registry.models import Version
    from registry.permissions import Actor

# Bytes of a record that is sent: some 800 000 samples.
MOST_BYTES = 8 << 20
# Records of one person, and of all people, whose files one version keeps: a file of a published
# version is never deleted, so a result that is removed makes no room for another.
_OF_ONE, _OF_ALL = 20, 500
_ADDED = "benchmark.added"


def contribute(
    actor: Actor, *, version: Version, text: str, variant: str = ""
) -> list[Measurement]:
    """Keep a person's record, which is ``text`` as JSON.

    Gives its results, those there already were if it is sent again. Raises NotAuthenticated,
    AccessNeeded, StateConflict, InvalidRequest, RecordInvalid, TextTooCostly, VariantMissing,
    QuotaExceeded and Unavailable.
    """
    user = require_user(actor, "read", of=version.model)
    registry.require_files(actor, version.model)
    _expect_released(version)
    record, whole = parsing.run(soundness.read, text)
    chosen = _measured_variant(version, record, variant)
    return _keep(user, version, chosen, record, whole.encode("ascii"))


@transaction.atomic
def remove(actor: Actor, *, version: Version, row: Measurement) -> None:
    """Forget a contributed result: its contributor may, and maintainers. Raises NotAllowed.

    Its record stays among the version's files, as every file of a published version does.
    """
    user = require_user(actor, "write", of=version.model)
    if not row.is_contributed:
        raise problems.StateConflict("What this hub measured is kept; only contributions go.")
    if row.contributor_id != user.pk and not can(actor, "version.derive", version.model):
        raise problems.NotAllowed(
            "Only its contributor or a maintainer of the namespace may remove a result."
        )
    same = Measurement.objects.filter(variant=row.variant_id, record_sha256=row.record_sha256)
    same.filter(origin=Measurement.Origin.CONTRIBUTED).delete()
    events.record("benchmark.removed", version, actor=actor, model=version.model)


@transaction.atomic
def _keep(
    user: Any, version: Version, variant: Variant, record: dict[str, Any], content: bytes
) -> list[Measurement]:
    version = lifecycle.lock(version)
    _expect_released(version)
    sha256 = hashlib.sha256(content).hexdigest()
    mine = Measurement.objects.filter(
        variant__version=version, origin=Measurement.Origin.CONTRIBUTED
    )
    if known := list(mine.filter(variant=variant, record_sha256=sha256).order_by("ordinal")):
        return known
    _expect_room(version, user, sha256)
    stored, _ = derivatives.store_bytes(io.BytesIO(content))
    file = derivatives.attach_evidence(
        version=version,
        manifest_sha256=version.manifest_sha256,
        folder=measuring.FOLDER,
        output=derivatives.Output(vetting.RECORD, stored),
    )
    rows = measuring.rows_of(
        record,
        variant,
        origin=Measurement.Origin.CONTRIBUTED,
        contributor=user,
        record_sha256=sha256,
        record_file=file,
    )
    made = Measurement.objects.bulk_create(rows)
    told = {"record_sha256": sha256}
    events.record(_ADDED, version, actor=user, model=version.model, **told)
    return made


def _expect_released(version: Version) -> None:
    if version.state not in RELEASED:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; benchmarks are kept of published versions.",
            state=version.state,
        )


def _expect_room(version: Version, user: Any, sha256: str) -> None:
    """Raise QuotaExceeded where one file more would be too many; events tell who sent how many."""
    if File.objects.filter(version=version, blob=sha256).exists():
        return
    added = Event.objects.filter(verb=_ADDED, subject_kind="version", subject_id=str(version.pk))
    kept = added.filter(actor__isnull=False).order_by().values("data__record_sha256").distinct()
    if kept.filter(actor=user).count() >= _OF_ONE or kept.count() >= _OF_ALL:
        raise problems.QuotaExceeded(
            f"A version keeps {_OF_ONE} records of one person and {_OF_ALL} of all, those included "
            "that were removed: their files stay."
        )


def _measured_variant(version: Version, record: dict[str, Any], name: str) -> Variant:
    """The variant that a record is of: its file, and the files beside it, are this version's."""
    sha256 = record["model"]["sha256"]
    if name:
        chosen = registry.variant(version, name, None, None)
    else:
        rows = Variant.objects.filter(version=version, entry__blob=sha256)
        found = rows.select_related("entry").first()
        if found is None:
            raise soundness.refusal("model.sha256", f"{version.ref} has no variant of this file")
        chosen = found
    if chosen.entry.blob_id != sha256:
        raise soundness.refusal("model.sha256", f"the variant {chosen.name} is another file")
    told = {str(file["sha256"]) for file in record["model"]["files"]}
    held = File.objects.filter(version=version, blob__in=told).values_list("blob", flat=True)
    if told - set(held):
        raise soundness.refusal("model.files", f"{version.ref} has not all of these files")
    return chosen
