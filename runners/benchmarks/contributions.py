"""Records that users measured on their own machines, kept under their names.

A user who may read a version's files may contribute a record of them. Its sums are recomputed, its
fields must not contradict each other, its files must be those of the version, and its challenge
must be of this hub. Then a worker computes the outputs of its inputs again (`recompute`); until
they agree the record is pending and has no result. The samples themselves cannot be verified: so
results are trusted only with the signature of an enrolled worker, and are shown separately
otherwise.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import problems, stored
from hub.protocol.vocabularies import ONNXRUNTIME
from registry.core import events, parsing
from registry.core.permissions import Actor, can, require_user
from registry.core.prepared_queries import Prepared
from registry.models import Event, File, User, Variant, Version
from registry.versions import lifecycle
from registry.versions import selectors as registry
from registry.versions.services import derivatives
from runners.benchmarks import challenges, enrolment, record_checks, record_consistency, records
from runners.engine.benchmark import output_agreement, physics, rules
from runners.engine.benchmark import record as form
from runners.engine.benchmark.releases import RELEASES
from runners.engine.benchmark.typed_record import Record
from runners.models import ContributedRecord, Job, Measurement
from runners.queue import services
from runners.queue.selectors import live_workers

# Maximum size of a contributed record in bytes, about 800 000 samples.
MOST_BYTES = 8 << 20
# Number of records of one user, and of all users, whose files one version keeps. A file of a
# published version is never deleted, so deleting a result makes no room for another.
_OF_ONE, _OF_ALL = 20, 500
_ADDED = "benchmark.added"
RECOMPUTATION = "recompute"
_MOST_REASON = 500
_MOST_LISTED = 20


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
) -> ContributedRecord:
    """Take a user's record, which is ``text`` as JSON, and queue the recomputation of its outputs.

    Returns the pending record, or the existing one if it was sent before. Raises NotAuthenticated,
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
    if record.format_version != form.FORMAT_VERSION:
        raise record_consistency.refusal(
            "format_version",
            f"it must be {form.FORMAT_VERSION}, which holds elements of the outputs",
            rule="format",
            cure="Measure again with the `hub bench` of this version.",
        )
    for part in record.parts:
        _expect_release(part)
    row = _measured_variant(version, record, variant)
    worker = None
    if signature is not None:
        worker = enrolment.signer(user, record, signature.worker, signature.value)
    return _submit(
        user,
        version,
        row,
        record,
        whole.encode("ascii"),
        enrolled_worker=worker,
        signature=signature.value if signature else "",
    )


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
def _submit(
    user: User,
    version: Version,
    variant: Variant,
    record: Record,
    content: bytes,
    **signed: Any,
) -> ContributedRecord:
    version = lifecycle.lock(version)
    registry.require_served(version, "versions can have benchmarks")
    sha256 = hashlib.sha256(content).hexdigest()
    same = ContributedRecord.objects.filter(
        variant=variant, contributor=user, record_sha256=sha256
    ).exclude(state=ContributedRecord.State.REFUSED)
    if row := same.first():
        return row
    challenges.expect(user, version, record)
    _expect_room(version, user, sha256)
    row, _ = ContributedRecord.objects.update_or_create(
        variant=variant,
        contributor=user,
        record_sha256=sha256,
        defaults={
            "challenge": record.challenge,
            "content": gzip.compress(content, mtime=0),
            "state": ContributedRecord.State.PENDING,
            "reason": "",
            "decided_at": None,
            **signed,
        },
    )
    row.job = services.enqueue(
        kind=RECOMPUTATION,
        version=version,
        entry=variant.entry.path,
        job_input={
            "contribution": row.pk,
            "parts": list(map(_inputs, record.parts)),
            **variant.input_options,
        },
        requires={"runtime": ONNXRUNTIME},
        again=True,
    )
    row.save(update_fields=["job"])
    events.record("benchmark.contributed", version, actor=user, model=version.model)
    return row


def _inputs(record: Record) -> dict[str, Any]:
    """What a worker makes the inputs of a record from; nothing of what came out."""
    config = record.data["config"]
    return {"seed": config["seed"], "source": config["input_source"], "ports": config["inputs"]}


@transaction.atomic
def decide(job: Job) -> ContributedRecord | None:
    """Accept or refuse the pending record whose outputs a job computed again; None without one.

    A refused record frees its challenge, and leaves no file in the version.
    """
    rows = ContributedRecord.objects.select_for_update(of=("self",)).select_related(
        "variant__entry", "variant__version__model", "contributor", "enrolled_worker"
    )
    row = rows.filter(
        pk=job.input.get("contribution"), job=job, state=ContributedRecord.State.PENDING
    ).first()
    if row is None:
        return None
    content = gzip.decompress(bytes(row.content))
    document = json.loads(content)
    version = row.variant.version
    if reason := _disagreement(job, row, document):
        row.state, row.reason = ContributedRecord.State.REFUSED, reason[:_MOST_REASON]
        challenges.free(row.contributor, version, row.challenge)
        events.record("benchmark.refused", version, actor=None, model=version.model)
    else:
        row.state = ContributedRecord.State.ACCEPTED
        worker = row.enrolled_worker
        trust = Measurement.Trust.UNVERIFIED if worker is None else Measurement.Trust.ENROLLED
        record = Record.read(form.without_samples(document))
        signed = {"enrolled_worker": worker, "signature": row.signature}
        _keep(row.contributor, version, row.variant, record, content, trust=trust, **signed)
    row.decided_at, row.content = timezone.now(), b""
    row.save(update_fields=["state", "reason", "decided_at", "content"])
    return row


def of_version(version: Version) -> QuerySet[ContributedRecord]:
    """The records that were contributed to a version, newest first."""
    return _of_version(version.pk)


def _of_version(version_id: int) -> QuerySet[ContributedRecord]:
    rows = ContributedRecord.objects.filter(variant__version=version_id).defer("content")
    return rows.select_related("variant__version__model__namespace", "contributor")


def without_results(version: Version) -> list[ContributedRecord]:
    """The newest pending and refused records of a version."""
    rows: list[ContributedRecord] = _without_results.instances(version.pk)
    return rows


@Prepared
def _without_results(version_id: int) -> QuerySet[ContributedRecord]:
    return _of_version(version_id).exclude(state=ContributedRecord.State.ACCEPTED)[:_MOST_LISTED]


def one(version: Version, pk: int) -> ContributedRecord:
    """One contributed record of a version; raises NotFound."""
    return problems.expect(
        of_version(version).filter(pk=pk).first(),
        problems.NotFound(f"{version.ref} has no contributed record {pk}."),
    )


def results_of(row: ContributedRecord) -> QuerySet[Measurement]:
    """The results of a record; none unless it was accepted."""
    rows = Measurement.objects.filter(
        variant=row.variant_id, contributor=row.contributor_id, record_sha256=row.record_sha256
    )
    return rows.order_by("ordinal")


def forget(version: Version) -> int:
    """Delete the pending and refused records of a withdrawn version."""
    return ContributedRecord.objects.filter(variant__version=version).delete()[0]


def _disagreement(job: Job, row: ContributedRecord, document: dict[str, Any]) -> str:
    """Why the hub does not believe a record after its own run; empty where it agrees."""
    if job.state != Job.State.SUCCEEDED:
        words = "; ".join(finding.message for finding in job.typed_report.findings)
        return f"No worker of this hub could recompute its outputs: {words or job.state}"
    parts = [document, *(sweep["record"] for sweep in document["sweeps"])]
    rows = list(stored.rows(job.typed_report.facts.get("outputs")))
    if len(rows) != len(parts):
        return "The worker computed other outputs than those of the record."
    reasons = (_of_part(row, part, facts) for part, facts in zip(parts, rows, strict=True))
    return next(filter(None, reasons), "")


def _of_part(row: ContributedRecord, document: dict[str, Any], facts: Mapping[str, Any]) -> str:
    """The same of one record: the whole one, or one of a sweep."""
    if facts.get("repeats") is not True:
        return (
            "The outputs of the model differ from one run to the next, so they cannot show that a "
            "record is of this model."
        )
    within = output_agreement.tolerance(document["provider"]["claimed"], row.variant.precision)
    own = list(stored.rows(facts.get("tensors")))
    for place, process in enumerate(document["processes"]):
        if not process["samples_ns"]:
            continue
        if words := output_agreement.disagreement(process["outputs"]["tensors"], own, within):
            return f"processes[{place}].outputs: {words} (recomputed by a worker of this hub)."
    entry = row.variant.entry
    evidence = physics.Evidence(
        document,
        weight_bytes=entry.blob.size if entry.blob else None,
        macs=_macs(row.variant, document),
        worker_ms=stored.amount(facts.get("fastest_ms")),
    )
    for rule, (field, _, words) in physics.breaches(evidence):
        return f"{field}: {words} (rule {rule.name}). {rule.cure}"
    return ""


def _macs(variant: Variant, document: dict[str, Any]) -> float | None:
    """The MACs of one inference with a record's inputs; None unless they have the usual sizes."""
    facts = {port.name: port.type.shape for port in variant.typed_facts.inputs}
    if variant.macs is None or not all(
        facts.get(port["name"]) == port["shape"] for port in document["config"]["inputs"]
    ):
        return None
    return float(variant.macs)


@transaction.atomic
def _keep(
    user: User,
    version: Version,
    variant: Variant,
    record: Record,
    content: bytes,
    **whose: Any,
) -> list[Measurement]:
    """Attach a record to its version and write its results; the existing ones if there are any."""
    version = lifecycle.lock(version)
    registry.require_served(version, "versions can have benchmarks")
    sha256 = hashlib.sha256(content).hexdigest()
    mine = Measurement.objects.filter(
        variant__version=version, origin=Measurement.Origin.CONTRIBUTED
    )
    same = mine.filter(variant=variant, record_sha256=sha256).order_by("ordinal")
    if rows := list(same):
        return rows
    _expect_room(version, user, sha256)
    blob, _ = derivatives.store_bytes(io.BytesIO(content))
    file = derivatives.attach_evidence(
        version=version,
        manifest_sha256=version.manifest_sha256,
        folder=records.FOLDER,
        output=derivatives.Output(record_checks.RECORD, blob),
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
    pending = ContributedRecord.objects.filter(
        variant__version=version, state=ContributedRecord.State.PENDING
    ).exclude(record_sha256=sha256)
    of_one = sent.filter(actor=user).count() + pending.filter(contributor=user).count()
    if of_one >= _OF_ONE or sent.count() + pending.count() >= _OF_ALL:
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
    sizes = dict(files.values_list("blob", "blob__size"))
    if digests - sizes.keys():
        raise _of_other("model.files", f"{version.ref} does not have all of these files")
    for row in record.data["model"]["files"]:
        if row["size"] != sizes[row["sha256"]]:
            raise _of_other("model.files", f"{row['path'][:80]} has {sizes[row['sha256']]} bytes")
    return variant


def _of_other(where: str, words: str) -> problems.RecordInvalid:
    cure = "Send the record to the version it was measured on, and name its variant."
    return record_consistency.refusal(where, words, rule="model", cure=cure)
