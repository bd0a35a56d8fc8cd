"""Results by content: which work has the same result, and whose result answers which job.

A result belongs to the bytes that the work reads, not to the version that asked first. The content
key of a job is the SHA-256 of its kind, its method, its options and the paths and digests of those
files. A job with the same key answers another one if it may be shared with that one's namespace
(`Job.objects.shared_with`) and was done with the libraries, and for timings on a device, that the
other one would get, too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from hub.protocol import inputs, proofs
from hub.protocol.facts import Facts
from hub.protocol.stored import mapping
from registry.cards import cards
from registry.models import Blob, File, Variant
from runners import pools
from runners.engine.benchmark import record, verdicts
from runners.engine.evaluation import rules
from runners.engine.onnx_files import describe
from runners.engine.reports import InvalidReportError, Report
from runners.models import Comparison, Job, Measurement, Worker
from runners.queue import order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.db.models import QuerySet

    from registry.models import Version

ENGINE = "1"
# The method of each kind of work whose result may be shared: a new one gives other results.
METHODS: dict[str, str] = {
    "annotate": ENGINE,
    "benchmark": record.METHOD_VERSION,
    "check": ENGINE,
    "compare-speed": record.COMPARISON_METHOD_VERSION,
    "conformance": ENGINE,
    "convert": ENGINE,
    "describe": str(describe.METHOD),
    "difference": ENGINE,
    "evaluation": rules.METHOD,
    "skeleton": ENGINE,
    "tensors": ENGINE,
    "upgrade": str(proofs.METHOD),
}
# Before publishing, a refusal is always the version's own: it is quick, and somebody waits.
_GATE = frozenset({"describe", "check"})
_READS_TEST_DATA = frozenset({"benchmark", "conformance", "convert", "upgrade"})
# What an input says of versions, variants and data sets alone: names, which no result depends on.
_NAMES = frozenset(
    {"manifest_sha256", "source", "against_version", "against_variant", "dataset", "number"}
)
_NEWEST = 20


@dataclass(frozen=True, slots=True)
class JobEnvironment:
    """Where a job would be done: the versions of a worker's libraries, and its host."""

    versions: Mapping[str, str]
    host: str


def key_of(job: Job) -> str:
    """The content key of a job about to be queued; empty where its result is its version's alone.

    Drafts, trainings and runs on a reader's own input never share anything.
    """
    method = METHODS.get(job.kind)
    if method is None or job.version is None or job.version.is_draft:
        return ""
    if job.kind == "benchmark":
        method = record.method_of(str(job.input.get("scenario", record.SINGLE_STREAM)))
    options = {name: value for name, value in job.input.items() if name not in _NAMES}
    files = _files(job.version, job.kind, job.entry)
    parts = [job.kind, method, job.entry, options, job.requires, job.pool, files]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def answer_to(job: Job, environments: Iterable[JobEnvironment]) -> Job | None:
    """The newest job whose result answers ``job``, were it done on one of ``benches``."""
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
    """The benches of the live workers that may take a job."""
    workers = Worker.objects.filter(seen_at__gt=timezone.now() - order.WORKER_LOST)
    return [
        JobEnvironment(worker.typed_capabilities.versions, worker.host)
        for worker in workers
        if job.queue in worker.queues and not pools.unmet(job.requires, worker.typed_capabilities)
    ]


def _files(version: Version, kind: str, entry: str) -> list[tuple[str, str]]:
    """The path and digest of each file that this work on ``entry`` may read, by path."""
    rows = File.objects.filter(version=version).values_list("path", "blob", "derived")
    files = {path: sha256 for path, sha256, _ in rows}
    uploaded = {path for path, _, derived in rows if not derived} - {cards.CARD_PATH}
    read = None if kind == "describe" else _loaded(version, entry)
    if read is None:
        read = {entry, *uploaded}
    if kind in _READS_TEST_DATA:
        read |= {path for path in uploaded if path.lower().endswith(inputs.ARRAYS)}
    return sorted((path, files[path]) for path in read if path in files)


def _loaded(version: Version, entry: str) -> set[str] | None:
    """The files that a described model is loaded from; None where an old description lists few."""
    variant = Variant.objects.filter(version=version, entry__path=entry).first()
    if variant is None or variant.typed_facts.method < describe.METHOD:
        return None
    return variant.paths


def _is_whole(job: Job) -> bool:
    """Whether a job's report still reads as one, with every file that it names."""
    try:
        report = Report.from_json(job.report)
    except InvalidReportError:
        return False
    if job.kind in _GATE and (report.outcome != "passed" or _reads_card(report)):
        return False
    if not _is_firm(job.kind, report):
        return False
    files = set(report.files.values())
    return Blob.objects.filter(pk__in=files, erased_at=None).count() == len(files)


def _reads_card(report: Report) -> bool:
    """Whether a described model may be loaded from the card, which is not in its key."""
    external = Facts.read(report.facts).external_files
    return cards.CARD_PATH in {file.path for file in external}


def _is_firm(kind: str, report: Report) -> bool:
    """Whether a timing says something; where the host was too busy, the next one may."""
    facts = report.facts
    if report.outcome == "passed" and kind == "benchmark":
        record = mapping(facts.get("record")) or facts
        return bool(record.get("status") == Measurement.Status.ACCEPTED)
    if report.outcome == "passed" and kind == "compare-speed":
        comparison = mapping(facts.get("comparison")) or facts
        word = mapping(comparison.get("verdict")).get("word")
        return word in verdicts.WORDS and word != verdicts.INCONCLUSIVE
    return True


def _is_of(other: Job, environment: JobEnvironment, namespace: int) -> bool:
    """Whether a result is what it would be on this bench, as far as a namespace may know of it."""
    versions = Report.stored(other.report).versions
    if not versions or versions != environment.versions:
        return False
    if other.kind not in ("benchmark", "compare-speed") or other.host == environment.host:
        return True
    timed_there = Job.objects.shared_with(namespace).filter(host=environment.host)
    return not _devices(Job.objects.filter(pk=other.pk)).isdisjoint(_devices(timed_there))


def _devices(jobs: QuerySet[Job]) -> set[str]:
    """The device classes on which these jobs timed something."""
    rows = Measurement.objects.filter(job__in=jobs), Comparison.objects.filter(job__in=jobs)
    return {device for some in rows for device in some.values_list("device", flat=True).distinct()}
