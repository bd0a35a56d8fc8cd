"""What signed statements say of conformance results, and of variants that were made here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hub.protocol.stored import mapping
from hub.protocol.variants import KINDS
from registry.models import File, Variant, Version
from registry.versions.results import Build, Result, ResultKind
from runners.models import ConformanceResult, Job
from runners.queue import job_kinds

# What an upgrade or a conversion was asked for; the rest of a job's input names versions.
_PARAMETERS = ("target", "recipe", "keep_float32", "calibration_sha256", "runtime", "source")


def conformance(version: Version) -> Iterator[Result]:
    """Every conformance result, also those that a newer one has replaced on pages."""
    rows = ConformanceResult.objects.filter(variant__version=version)
    for row in rows.select_related("variant", "evidence").order_by("pk"):
        yield Result(
            f"conformance/{row.pk}",
            str(row.job_id),
            {
                "variant": row.variant.name,
                "runtime": row.runtime,
                "runtime_version": row.runtime_version,
                "check": row.check_kind,
                "verdict": str(row.verdict),
                "outcome": row.outcome,
                "blames": row.blames,
                "graph_pass": row.graph_pass,
                "runs": row.runs,
                "profile": row.profile,
                "datasets": row.datasets,
            },
            {
                "reason": row.reason,
                "figures": row.figures,
                "node": row.node,
                "evidence": row.evidence.blob_id if row.evidence else None,
                "seconds": row.seconds,
                "at": row.at.isoformat(),
            },
            {row.variant.name: row.entry_sha256},
        )


def upgrades(version: Version) -> Iterator[Result]:
    """The upgraded variants, each with the strength of its proof and the certificates in it."""
    for row, job, files in _derived(version, Variant.Origin.UPGRADED):
        proof = row.statement
        certificates = () if proof is None else proof.certificates or ()
        facts = {
            "proof_strength": row.proof_strength,
            "certificates": sum(item.nodes for item in certificates if item.is_certified),
            "changed_nodes": sum(item.nodes for item in certificates),
        }
        yield _variant(row, job, files, facts)


def conversions(version: Version) -> Iterator[Result]:
    """The variants of another precision; what that cost is among the details."""
    for row, job, files in _derived(version, Variant.Origin.CONVERTED):
        yield _variant(row, job, files, {})


def _derived(version: Version, origin: str) -> Iterator[tuple[Variant, Job | None, dict[str, str]]]:
    """The variants of an origin with their jobs, and the digests of the version's files by path."""
    rows = Variant.objects.filter(version=version, origin=origin)
    variants = list(rows.select_related("entry", "derived_from__entry").order_by("pk"))
    if variants:
        jobs = Job.objects.only("kind", "input").in_bulk([row.job_uuid for row in variants])
        files = dict(File.objects.filter(version=version).values_list("path", "blob"))
        for row in variants:
            yield row, jobs.get(row.job_uuid), files


def _variant(row: Variant, job: Job | None, files: dict[str, str], facts: dict[str, Any]) -> Result:
    facts = {"variant": row.name, "opset": row.opset, "precision": row.precision, **facts}
    own = {path: files[path] for path in _paths(row) if path in files}
    details = {"derivation": row.derivation, "proof": row.proof}
    build = _build(row, job, files)
    return Result(f"variant/{row.name}", str(row.job_uuid), facts, details, own, build)


def _build(row: Variant, job: Job | None, files: dict[str, str]) -> Build:
    kind = next(of for of in KINDS.values() if of.derivation.adjective == row.origin)
    options = job.input if job else {}
    versions = mapping(mapping(row.derivation).get("versions"))
    return Build(
        kind=kind.derivation.noun,
        parameters={name: options[name] for name in _PARAMETERS if name in options},
        sources={path: files[path] for path in _paths(row.derived_from) if path in files},
        job=str(row.job_uuid),
        method=_method(row, job),
        versions={str(name): str(text) for name, text in versions.items()},
    )


def _method(row: Variant, job: Job | None) -> str:
    """The version of the method: the one in the proof, else that of this release."""
    if row.statement is not None:
        return str(row.statement.method)
    kind = job_kinds.of(job) if job else None
    return kind.method_of(job) if kind and job else ""


def _paths(row: Variant | None) -> Iterable[str]:
    """The files that a variant is loaded from, its entry first."""
    if row is None:
        return ()
    return (row.entry.path, *sorted(row.paths - {row.entry.path}))


RESULT_KINDS = (
    ResultKind("conformance", ("conformance.added",), conformance),
    ResultKind("upgrade", ("variant.added",), upgrades),
    ResultKind("conversion", ("variant.added",), conversions),
)
