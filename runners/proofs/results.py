"""Rows from reports of ended jobs: derived variants, conformance results, cases of the suite.

A report comes from a process that has read an upload: what does not fit the tables is left out.
"""

from __future__ import annotations

import itertools
from typing import Any

from django.db import transaction
from django.utils import timezone

from hub.protocol.proofs import InvalidProofError, Proof
from hub.protocol.stored import rows
from hub.protocol.variants import UPGRADE
from registry.core import events
from registry.models import File, Variant, Version
from registry.versions.services import derivatives
from runners.engine.reports import Report
from runners.models import ConformanceResult, Job, SuiteResult, SuiteRun
from runners.proofs import derivations

EVIDENCE = "evidence"
WORDS = 4000
FIGURES = 500


@transaction.atomic
def take_variants(job: Job) -> int:
    """Attach the variants that an upgrade or a conversion made; returns their number.

    An upgrade reports a row for each file that it made; a conversion, and an upgrade of an older
    worker, is itself the row of all its files.
    """
    report = job.typed_report
    if job.version is None or not report.files:
        return 0
    shared = {key: value for key, value in report.facts.items() if key != "variants"}
    entries = [shared | row for row in rows(report.facts.get("variants"))] or [shared]
    return sum(_attach(job, job.version, report, entry) is not None for entry in entries)


def _attach(job: Job, version: Version, report: Report, row: dict[str, Any]) -> Variant | None:
    """Attach one variant from what a report says of it."""
    facts = dict(row)
    described, proof = facts.pop("described", {}), facts.pop("proof", None)
    target, name = facts.get("target"), facts.pop("file", None)
    files = {name: report.files[name]} if name in report.files else report.files
    measures = [row for row in report.measures if row.get("target", target) == target]
    return derivatives.attach(
        version=version,
        manifest_sha256=job.input["manifest_sha256"],
        derived=derivatives.DerivedVariant(
            name=derivations.name_of(job, facts),
            origin=derivations.origin_of(job),
            source=str(job.input["source"]),
            outputs=tuple(itertools.starmap(derivatives.Output, files.items())),
            facts=described,
            derivation={
                "task": job.kind,
                **facts,
                "versions": report.versions,
                "figures": measures[:FIGURES],
            },
            job_uuid=job.pk,
            proof=_proof(proof) if job.kind == UPGRADE.job else None,
        ),
    )


def _proof(stored: Any) -> Proof | None:
    """The proof in a report; None in the report of an older worker."""
    try:
        return Proof.from_json(stored)
    except InvalidProofError:
        return None


@transaction.atomic
def take_copy(job: Job) -> File | None:
    """Keep the copy with more metadata that a job made; None if it made none."""
    outputs = list(job.typed_report.files.items())
    if job.version is None or not outputs:
        return None
    return derivatives.attach_copy(
        version=job.version,
        manifest_sha256=job.input["manifest_sha256"],
        source=job.entry,
        output=derivatives.Output(*outputs[0]),
    )


@transaction.atomic
def take_conformance(job: Job) -> int:
    """Write the results of a conformance job once; returns the number of checks."""
    entry = File.objects.filter(version=job.version_id, path=job.entry).first()
    variant = Variant.objects.filter(entry=entry).first() if entry else None
    if job.version is None or entry is None or variant is None or job.conformance.exists():
        return 0
    report = job.typed_report
    evidence = {
        name: derivatives.attach_evidence(
            version=job.version,
            manifest_sha256=job.input["manifest_sha256"],
            folder=EVIDENCE,
            output=derivatives.Output(name, sha256),
        )
        for name, sha256 in report.files.items()
    }
    rows = [
        ConformanceResult(
            job=job,
            variant=variant,
            entry_sha256=entry.blob_id,
            runtime=str(measure["runtime"])[:32],
            runtime_version=str(measure["runtime_version"])[:64],
            check_kind=measure["check"],
            outcome=_outcome(measure),
            blames=measure.get("blames", ""),
            graph_pass=str(measure.get("graph_pass", ""))[:200],
            runs=measure.get("runs") if isinstance(measure.get("runs"), bool) else None,
            reason=str(measure.get("reason", ""))[:WORDS],
            profile=str(measure.get("profile", ""))[:32],
            datasets=int(measure.get("datasets", 0)),
            seconds=float(measure.get("seconds", 0.0)),
            figures=list(measure.get("outputs", []))[:FIGURES],
            node=measure.get("node"),
            evidence=evidence.get(str(measure.get("evidence", ""))),
            at=job.finished_at or timezone.now(),
        )
        for measure in report.measures
    ]
    results = ConformanceResult.objects.bulk_create(rows)
    if results:
        events.record("conformance.added", job.version, actor=None, model=job.version.model)
    return len(results)


def _outcome(measure: dict[str, Any]) -> str:
    """The outcome of a check; older workers failed runtimes for wrong data or a wrong reference."""
    faultless = (ConformanceResult.Blame.DATA, ConformanceResult.Blame.REFERENCE)
    if (
        measure["outcome"] == ConformanceResult.Outcome.FAILED
        and measure.get("blames") in faultless
    ):
        return str(ConformanceResult.Outcome.CANT_TELL)
    return str(measure["outcome"])


@transaction.atomic
def take_suite(job: Job) -> None:
    """Write one part of a suite run; the last one finishes the run."""
    run = SuiteRun.objects.select_for_update().filter(pk=job.input.get("run")).first()
    part = job.input.get("part")
    if run is None or part in run.done:
        return
    SuiteResult.objects.bulk_create(
        [_case(run, measure) for measure in job.typed_report.measures],
        ignore_conflicts=True,
    )
    run.done = sorted([*run.done, part])
    if len(run.done) == run.parts:
        run.finished_at = timezone.now()
    run.save(update_fields=["done", "finished_at"])


def _case(run: SuiteRun, measure: dict[str, Any]) -> SuiteResult:
    opset = measure.get("opset")
    return SuiteResult(
        run=run,
        case=str(measure["case"])[:200],
        operator=str(measure.get("operator", ""))[:100],
        opset=opset if isinstance(opset, int) else None,
        outcome=measure["outcome"],
        reason=str(measure.get("reason", ""))[:WORDS],
    )
