"""Sharing of results between jobs that do the same work on the same content.

The content key of a job is the SHA-256 of its kind, method, options, and the paths and digests of
the files that it reads. The result of a job can be reused for another one with the same key if it
may be shared with the namespace of the other (`Job.objects.shared_with`), and if the versions of
the libraries are those that the other job would run with. A timing must also be of the same class
of device.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import inputs, strict
from hub.protocol.facts import Facts
from registry.cards import cards
from registry.models import Blob, File, Variant, Version
from runners import pools
from runners.engine.onnx_files import describe
from runners.engine.reports import Report
from runners.models import Comparison, Job, Measurement, Worker
from runners.queue import job_kinds, order

# Version of the methods that never changed. A new method invalidates older results.
ENGINE = "1"
# Before publication, only passed results are shared: a failure is quick to compute and belongs to
# the version.
_GATE = frozenset({"describe", "check"})
_READS_TEST_DATA = frozenset({"benchmark", "conformance", "convert", "upgrade"})
# Keys of a job's input that only name versions, variants and data sets, so that no result depends
# on them.
_NAMES = frozenset(
    {"manifest_sha256", "source", "against_version", "against_variant", "dataset", "number"}
)
_NEWEST = 20


@dataclass(frozen=True, slots=True)
class JobEnvironment:
    """Where a job would run: the versions of a worker's libraries, and its host."""

    versions: Mapping[str, str]
    host: str


def key_of(job: Job) -> str:
    """The content key of a new job; empty if its result must not be shared.

    Jobs of drafts, trainings and try-outs are never shared.
    """
    kind = job_kinds.of(job)
    method = kind.method_of(job) if kind else ""
    if not method or job.version is None or job.version.is_draft:
        return ""
    options = {name: value for name, value in job.input.items() if name not in _NAMES}
    files = _files(job.version, job.kind, job.entry)
    parts = [job.kind, method, job.entry, options, job.requires, job.pool, files]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def answer_to(job: Job, environments: Iterable[JobEnvironment]) -> Job | None:
    """The newest job whose result can be reused for ``job`` in one of the environments.

    Else None.
    """
    if not job.content_key or job.version is None:
        return None
    namespace = job.version.model.namespace_id
    rows = Job.objects.with_verdict().shared_with(namespace)
    same = rows.filter(content_key=job.content_key).exclude(pk=job.pk)
    environments = list(environments)
    for other in same.order_by("-finished_at", "-pk")[:_NEWEST] if environments else ():
        if _is_whole(other) and any(
            _is_of(other, environment, namespace) for environment in environments
        ):
            return other
    return None


def environments_for(job: Job) -> list[JobEnvironment]:
    """The environments of the live workers that may run a job."""
    workers = Worker.objects.filter(seen_at__gt=timezone.now() - order.WORKER_LOST)
    return [
        JobEnvironment(worker.typed_features.versions, worker.host)
        for worker in workers
        if job.queue in worker.queues and not pools.unmet(job.requires, worker.typed_features)
    ]


def _files(version: Version, kind: str, entry: str) -> list[tuple[str, str]]:
    """Pairs of path and digest of the files that this kind of job on ``entry`` may read, sorted."""
    rows = File.objects.filter(version=version).values_list("path", "blob", "derived")
    files = {path: sha256 for path, sha256, _ in rows}
    uploaded = {path for path, _, derived in rows if not derived} - {cards.CARD_PATH}
    reads_all = any(row.name == kind and row.reads_all for row in job_kinds.job_kinds)
    read = None if reads_all else _loaded(version, entry)
    if read is None:
        read = {entry, *uploaded}
    if kind in _READS_TEST_DATA:
        read |= {path for path in uploaded if path.lower().endswith(inputs.ARRAYS)}
    return sorted((path, files[path]) for path in read if path in files)


def _loaded(version: Version, entry: str) -> set[str] | None:
    """Files that the described model is loaded from.

    None if its description is of an old format.
    """
    variant = Variant.objects.filter(version=version, entry__path=entry).first()
    if variant is None or variant.typed_facts.method < describe.METHOD:
        return None
    return variant.paths


def _is_whole(job: Job) -> bool:
    """Whether a job's report is complete and conclusive, and all its files are still stored."""
    try:
        report = Report.from_json(job.report)
    except strict.UnreadableError:
        return False
    if job.kind in _GATE and (report.outcome != "passed" or _reads_card(report)):
        return False
    kind = job_kinds.of(job)
    if kind and report.outcome == "passed" and not kind.is_conclusive(report.facts):
        return False
    files = set(report.files.values())
    return Blob.objects.filter(pk__in=files, erased_at=None).count() == len(files)


def _reads_card(report: Report) -> bool:
    """Whether the model may load data from the card, which is not part of the content key."""
    external = Facts.read(report.facts).external_files
    return cards.CARD_PATH in {file.path for file in external}


def _is_of(other: Job, environment: JobEnvironment, namespace: int) -> bool:
    """Whether a result would be the same in this environment, as far as the namespace may know."""
    versions = Report.stored(other.report).versions
    if not versions or versions != environment.versions:
        return False
    if other.kind not in ("benchmark", "compare-speed") or other.host == environment.host:
        return True
    timed_there = Job.objects.shared_with(namespace).filter(host=environment.host)
    return not _devices(Job.objects.filter(pk=other.pk)).isdisjoint(_devices(timed_there))


def _devices(jobs: QuerySet[Job]) -> set[str]:
    """The device classes on which these jobs have measured something."""
    rows = Measurement.objects.filter(job__in=jobs), Comparison.objects.filter(job__in=jobs)
    return {device for some in rows for device in some.values_list("device", flat=True).distinct()}
