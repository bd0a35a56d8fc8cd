"""Event handlers of the runners: events become jobs, ended jobs become rows.

Handlers read the current rows, so they may run twice or late without harm.
"""

from __future__ import annotations

from functools import partial

from hub.protocol import proofs
from hub.protocol.facts import read_ports
from registry.cards import cards, suggestions
from registry.core import outbox
from registry.models import Check, File, Variant, Version
from registry.versions.services import checks
from runners.drafts import facts as draft_facts
from runners.engine import conformance, convert, costs
from runners.engine.onnx_files import describe
from runners.engine.reports import FileCheck, Finding, stored_verdicts
from runners.graphs import derived_files, differences, networks, tensors
from runners.models import Job
from runners.proofs import results, verification
from runners.queue import job_kinds, services
from runners.queue.content import ENGINE
from runners.queue.job_kinds import JobKind


def connect() -> None:
    """Subscribe to the registry's events."""
    outbox.subscribe("runners.jobs", ("version.submitted",), _on_submitted)
    published = ("version.published", "variant.added")
    outbox.subscribe("runners.proofs", published, _on_published, released=True)
    outbox.subscribe("runners.results", ("job.finished",), _on_finished)
    outbox.subscribe("runners.differences", ("version.withdrawn",), _on_withdrawn)
    job_kinds.job_kinds.register(
        "runners",
        JobKind(
            "describe",
            _take_facts,
            method=str(describe.METHOD),
            reads_all=True,
            schedule_missing=verification.schedule_missing,
        ),
        JobKind("check", method=ENGINE),
        JobKind(
            "upgrade",
            results.take_variants,
            method=str(proofs.METHOD),
            schedule_missing=verification.schedule_missing,
        ),
        JobKind("convert", results.take_variants, method=str(convert.METHOD)),
        JobKind("annotate", results.take_copy, method=ENGINE),
        JobKind(
            "skeleton",
            networks.take,
            method=str(costs.METHOD),
            schedule_missing=networks.schedule_missing,
        ),
        JobKind(
            "difference",
            differences.keep,
            method=ENGINE,
            schedule_missing=differences.schedule_missing,
            forget=differences.forget,
        ),
        JobKind(
            "conformance",
            results.take_conformance,
            method=str(conformance.METHOD),
            takes_failures=True,
            schedule_missing=verification.schedule_missing,
        ),
        JobKind("suite", results.take_suite, takes_failures=True),
        JobKind("tensors", partial(derived_files.keep, folder=tensors.FOLDER), method=ENGINE),
    )


def models_of(version: Version) -> list[str]:
    """Paths of the uploaded ONNX files of a version, the likeliest entry first."""
    paths = File.objects.filter(version=version, derived=False, path__iendswith=".onnx")
    return sorted(paths.values_list("path", flat=True), key=draft_facts.likelihood)


def variant_name(path: str, all_paths: list[str]) -> str:
    """A file's variant name: `default` for the first file, else derived from its path."""
    if path == all_paths[0]:
        return "default"
    stem = path.removesuffix(".onnx").lower()
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in stem).strip("-._")[
        :60
    ]


def _on_submitted(subject: outbox.Subject) -> None:
    version = Version.objects.filter(pk=subject.key, state=Version.State.SUBMITTED).first()
    if version is None:
        return
    for path in models_of(version):
        services.enqueue(kind="describe", version=version, entry=path, priority=0)


def _on_published(subject: outbox.Subject) -> None:
    """Schedule missing evidence of a published version, also for a new variant."""
    version = Version.objects.filter(pk=subject.key, state__in=Version.SERVED).first()
    if version is not None:
        schedules = (kind.schedule_missing for kind in job_kinds.job_kinds)
        for schedule_missing in dict.fromkeys(filter(None, schedules)):
            schedule_missing(version)


def _on_withdrawn(subject: outbox.Subject) -> None:
    """Delete the results about a withdrawn version's graphs."""
    version = Version.objects.filter(pk=subject.key, state=Version.State.WITHDRAWN).first()
    if version is not None:
        for kind in job_kinds.job_kinds:
            if kind.forget is not None:
                kind.forget(version)


def _on_finished(subject: outbox.Subject) -> None:
    job = Job.objects.select_related("version__model__namespace").filter(pk=subject.key).first()
    if job is None or not job.is_ended or job.input.get(draft_facts.MARK):
        return
    kind = job_kinds.of(job)
    take = kind.take if kind else None
    if kind and take and (job.state == Job.State.SUCCEEDED or kind.takes_failures):
        take(job)
    if job.kind == "check" or (job.kind == "describe" and _is_submitted(job)):
        _conclude(job)


def _take_facts(job: Job) -> None:
    """Make a described file a variant, and queue its check if its version is submitted."""
    version = job.version
    assert version is not None  # noqa: S101 - for the type checker: every such job has one
    paths = models_of(version)
    is_current = checks.describe(
        version=version,
        manifest_sha256=job.input["manifest_sha256"],
        variant=checks.VariantDescription(
            name=variant_name(job.entry, paths),
            path=job.entry,
            facts=job.typed_report.facts,
            job_uuid=job.pk,
        ),
    )
    if is_current and _is_submitted(job):
        services.enqueue(kind="check", version=version, entry=job.entry, priority=0)


def _is_submitted(job: Job) -> bool:
    """Whether the version waits for its checks; a released version is only described again."""
    return job.version is not None and job.version.state == Version.State.SUBMITTED


def _conclude(job: Job) -> None:
    """Settle the check `onnx` when all files are described and checked, or a job has failed."""
    version = job.version
    assert version is not None  # noqa: S101 - for the type checker: every such job has one
    manifest = job.input["manifest_sha256"]
    jobs = _newest(version, manifest)
    failed = [job for job in jobs if job.state in (Job.State.FAILED, Job.State.CANCELLED)]
    expected = {(kind, path) for path in models_of(version) for kind in ("describe", "check")}
    done = {(job.kind, job.entry) for job in jobs if job.state == Job.State.SUCCEEDED}
    if failed:
        outcome = _outcome(failed)
    elif expected <= done:
        outcome = Check.Outcome.PASSED.value
    else:
        return
    files = _file_checks([job for job in jobs if job.is_ended])
    if outcome == Check.Outcome.PASSED and (findings := _contradictions(version)):
        files.append(FileCheck(cards.CARD_PATH, findings))
        if any(finding.severity == "error" for finding in findings):
            outcome = Check.Outcome.FAILED.value
    checks.settle(
        version=version,
        manifest_sha256=manifest,
        kind="onnx",
        outcome=outcome,
        report={"files": [file.to_json() for file in files]},
    )


def _contradictions(version: Version) -> tuple[Finding, ...]:
    """Findings about the licence and the inputs on the card that differ from those of the files."""
    return _contradicting_licences(version) + _contradicting_inputs(version)


def _contradicting_licences(version: Version) -> tuple[Finding, ...]:
    declared = version.card.get("license")
    written = [str(name) for name in (declared if isinstance(declared, list) else [declared or ""])]
    return tuple(
        Finding(
            "licence-contradiction",
            "warning",
            f"The metadata of {variant.entry.path} state the licence {licence.value} (key "
            f"{licence.origin}), and the card states {', '.join(written)}. Ask the author of the "
            "file which one holds, and correct the other.",
            f"license, {variant.entry.path}",
        )
        for variant in version.variants.filter(origin=Variant.Origin.UPLOADED)
        .select_related("entry")
        .order_by("pk")
        for licence in suggestions.contradicting_licences(variant.typed_facts, written)
    )


def _contradicting_inputs(version: Version) -> tuple[Finding, ...]:
    if not version.card.get("inputs"):
        return ()
    facts = Variant.objects.filter(version=version).values_list("facts__inputs", flat=True)
    model = [port for rows in facts for port in read_ports(rows)]
    files = list(version.files.filter(derived=False).values_list("path", flat=True))
    return tuple(
        Finding(
            "declared-input",
            contradiction.severity,
            f"{contradiction.message} {contradiction.cure}",
            f"{f'line {contradiction.line}, ' if contradiction.line else ''}{contradiction.field}",
        )
        for contradiction in cards.contradictions(version.readme, model, files)
    )


def _newest(version: Version, manifest: str) -> list[Job]:
    """The newest job of each kind and file with this manifest."""
    rows = Job.objects.filter(version=version, kind__in=("describe", "check")).order_by("queued_at")
    newest = {
        (row.kind, row.entry): row
        for row in rows
        if row.input.get("manifest_sha256") == manifest and not row.input.get(draft_facts.MARK)
    }
    return list(newest.values())


def _outcome(failed: list[Job]) -> str:
    at_fault = any(job.error_class == Job.DETERMINISTIC for job in failed)
    return (Check.Outcome.FAILED if at_fault else Check.Outcome.ERRORED).value


def _file_checks(jobs: list[Job]) -> list[FileCheck]:
    """The verdicts and findings of each file, as the page and the API show them."""
    files: dict[str, FileCheck] = {}
    for job in sorted(jobs, key=lambda row: row.kind == "check"):
        file = files.get(job.entry, FileCheck(job.entry, verdicts={}))
        report = job.typed_report
        findings = report.findings
        if not job.report:
            words = job.error_detail or f"The job {job.kind} was {job.state}."
            findings = (Finding(f"job-{job.state}", "error", words),)
        verdicts = stored_verdicts(report.facts.get("verdicts"))
        files[job.entry] = FileCheck(
            job.entry, (*file.findings, *findings), {**(file.verdicts or {}), **verdicts}
        )
    return list(files.values())
