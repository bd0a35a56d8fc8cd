"""Conformance and upgrades for pages and API: matrix, upgrade history, scoreboard.

The newest result of each check counts; older ones remain readable. A check without a result has the
state of its job, or "not run".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, QuerySet

from hub.protocol import problems
from hub.protocol.variants import JOBS
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE, RUNTIMES
from registry.core.prepared_queries import Prepared
from registry.models import Variant, Version
from runners.models import ConformanceResult, Job, SuiteResult, SuiteRun
from runners.proofs import verification

RESULTS = 2000
CHECKS = tuple(ConformanceResult.Check.values)
SUITE_WORDS = tuple(SuiteResult.Outcome.values)


@dataclass(frozen=True, slots=True)
class Cell:
    """One check of one variant on one runtime: its newest result, or the job that will write it."""

    check: str
    runtime: str
    result: ConformanceResult | None
    job: Job | None

    @property
    def word(self) -> str:
        """A `ConformanceVerdict`, or `queued`, `running`, `errored`, `not run`."""
        if self.result is not None:
            return str(self.result.verdict)
        if self.job is None:
            return "not run"
        return str(self.job.state) if self.job.state in Job.LIVE else "errored"


@dataclass(frozen=True, slots=True)
class Column:
    """A runtime of the matrix, with the version of its newest results."""

    runtime: str
    version: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Checks by runtimes, for one variant."""

    variant: Variant
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def cells(self) -> list[Cell]:
        return [cell for _, cells in self.rows for cell in cells]


@dataclass(frozen=True, slots=True)
class UpgradeTarget:
    """One opset that an upgrade of a variant tried, and the outcome."""

    opset: int | None
    outcome: str
    reason: str
    blocking: tuple[dict[str, Any], ...]
    job: Job


@dataclass(frozen=True, slots=True)
class UpgradeHistory:
    """The upgrades of a variant: variants that are ready, and the opsets that were tried."""

    variant: Variant
    ready: tuple[Variant, ...]
    targets: tuple[UpgradeTarget, ...]
    job: Job | None

    @property
    def preferred(self) -> Variant | None:
        """The upgraded variant that stands in for the original: portable, of the highest opset."""
        own = self.variant.opset or 0
        higher = [row for row in self.ready if row.is_chosen and (row.opset or 0) > own]
        return max(higher, key=lambda row: row.preference, default=None)


@dataclass(frozen=True, slots=True)
class Score:
    """A run of the operator suite, with the number of cases for each outcome."""

    run: SuiteRun
    totals: dict[str, int]

    @property
    def cases(self) -> int:
        return sum(self.totals.values())


def results_of(version: Version, *, with_history: bool = False) -> list[ConformanceResult]:
    """Conformance results of a version's variants, newest first; each check once, or all of them.

    A result counts only while its variant still is the file that was run.
    """
    return (
        list(_results(version.pk)[:RESULTS])
        if with_history
        else _newest_results.instances(version.pk)
    )


def _results(version_id: int) -> QuerySet[ConformanceResult]:
    rows = ConformanceResult.objects.filter(variant__version=version_id)
    return rows.select_related("variant__entry", "evidence").order_by("-at", "-pk")


@Prepared
def _newest_results(version_id: int) -> QuerySet[ConformanceResult]:
    valid = ConformanceResult.objects.filter(
        variant__version=version_id, entry_sha256=F("variant__entry__blob")
    )
    groups = valid.order_by().values("variant", "runtime", "check_kind")
    newest = groups.annotate(newest=Max("pk")).values("newest")
    return _results(version_id).filter(pk__in=newest)


# Every page that shows evidence asks for them.


def result(version: Version, pk: int) -> ConformanceResult:
    """One conformance result of a version; raises NotFound."""
    rows = ConformanceResult.objects.filter(variant__version=version)
    return problems.expect(
        rows.select_related("variant__entry", "evidence", "job").filter(pk=pk).first(),
        problems.NotFound(f"{version.ref} has no conformance result {pk}."),
    )


def describe(version: Version, pk: int) -> str:
    """One conformance result of a version in a few words; raises NotFound."""
    row = result(version, pk)
    check, outcome = row.get_check_kind_display(), row.get_outcome_display()
    runtime = RUNTIMES.get(row.runtime, row.runtime)
    return f"{check}: {outcome} on {runtime} {row.runtime_version}, {row.variant.name}"


def history_of(result: ConformanceResult) -> list[ConformanceResult]:
    """Every result of the same check of the same variant on the same runtime, newest first."""
    rows = ConformanceResult.objects.filter(
        variant=result.variant_id, runtime=result.runtime, check_kind=result.check_kind
    )
    return list(rows.order_by("-at", "-pk")[:50])


def made_by(job: Job) -> list[Variant]:
    """The variants that a job made, without those that a later job replaced."""
    if job.version is None or job.kind not in JOBS:
        return []
    rows = Variant.objects.filter(version=job.version, job_uuid=job.pk)
    return list(rows.exclude(origin=Variant.Origin.UPLOADED).select_related("entry"))


def matrices(version: Version, results: Sequence[ConformanceResult] | None = None) -> list[Matrix]:
    """The conformance matrix of each variant of a version, in a fixed number of queries.

    ``results`` are those of `results_of`, where they were read already.
    """
    results = results_of(version) if results is None else results
    jobs = _newest_jobs(version)
    names = _runtimes(results, jobs.values())
    newest = {(row.variant_id, row.runtime, row.check_kind): row for row in results}
    versions = {row.runtime: row.runtime_version for row in reversed(results)}
    columns = tuple(Column(name, versions.get(name, "")) for name in names)
    return [
        Matrix(
            variant,
            columns,
            tuple(
                (
                    check,
                    tuple(
                        Cell(
                            check,
                            name,
                            newest.get((variant.pk, name, check)),
                            jobs.get((variant.entry.path, name, check)),
                        )
                        for name in names
                    ),
                )
                for check in CHECKS
            ),
        )
        for variant in _VARIANTS.instances(version.pk)
    ]


_VARIANTS = Prepared(
    lambda version_id: Variant.objects.filter(version=version_id).select_related(
        "entry", "derived_from"
    )
)


def upgrade_histories(version: Version) -> list[UpgradeHistory]:
    """The upgrades of each uploaded variant, and what blocked them."""
    variants = list(
        Variant.objects.filter(version=version).select_related("entry__blob", "derived_from")
    )
    newest: dict[tuple[str, Any], Job] = {}
    for job in Job.objects.filter(version=version, kind="upgrade").order_by("-queued_at"):
        newest.setdefault((job.entry, job.input.get("target")), job)
    upgrade_histories = []
    for variant in variants:
        if variant.origin != Variant.Origin.UPLOADED:
            continue
        mine = [job for (entry, _), job in newest.items() if entry == variant.entry.path]
        ready = tuple(
            row
            for row in variants
            if row.derived_from_id == variant.pk and row.origin == Variant.Origin.UPGRADED
        )
        targets = tuple(target for job in mine for target in _targets(job))
        upgrade_histories.append(UpgradeHistory(variant, ready, targets, mine[0] if mine else None))
    return upgrade_histories


def scores() -> list[Score]:
    """The runs of the operator suite with their totals, newest first for each runtime."""
    totals = dict(_tallies(SuiteResult.objects.all(), "run"))
    return [
        Score(run, totals.get(run.pk, dict.fromkeys(SUITE_WORDS, 0)))
        for run in SuiteRun.objects.order_by("runtime", "-started_at", "pk")
    ]


def score(runtime: str, runtime_version: str, onnx_version: str = "") -> Score:
    """One run of the suite, the newest unless the version of onnx is named; raises NotFound."""
    for candidate in scores():
        run = candidate.run
        same = (run.runtime, run.runtime_version) == (runtime, runtime_version)
        if same and onnx_version in ("", run.onnx_version):
            return candidate
    raise problems.NotFound(f"The operator suite has not been run on {runtime} {runtime_version}.")


def by_operator(run: SuiteRun) -> list[tuple[str, dict[str, int]]]:
    """Outcomes of the cases of each operator: (operator, outcome to number of cases)."""
    return _tallies(SuiteResult.objects.filter(run=run), "operator")


def by_opset(run: SuiteRun) -> list[tuple[int | None, dict[str, int]]]:
    """Outcomes of the cases of each opset: (opset, outcome to number of cases)."""
    return _tallies(SuiteResult.objects.filter(run=run), "opset")


def _tallies(rows: QuerySet[SuiteResult], column: str) -> list[tuple[Any, dict[str, int]]]:
    """Numbers of cases by outcome for each value of a column, in its order."""
    counts = rows.values_list(column, "outcome").annotate(n=Count("pk")).order_by(column)
    table: dict[Any, dict[str, int]] = {}
    for value, outcome, number in counts:
        table.setdefault(value, dict.fromkeys(SUITE_WORDS, 0))[outcome] = number
    return list(table.items())


def suite_cases(run: SuiteRun, *, operator: str = "", outcome: str = "") -> QuerySet[SuiteResult]:
    """The cases of a run, filtered."""
    conditions = {"run": run, "operator": operator, "outcome": outcome}
    return SuiteResult.objects.filter(
        **{name: value for name, value in conditions.items() if value}
    )


def suite_changes(before: SuiteRun, after: SuiteRun) -> list[tuple[str, str, str, str]]:
    """Cases with another outcome in another run: (operator, case, outcome before, outcome after).

    A case that only one of the runs has is `absent` in the other.
    """
    old = {row.case: row for row in SuiteResult.objects.filter(run=before)}
    new = {row.case: row for row in SuiteResult.objects.filter(run=after)}
    changed = []
    for case in sorted(old.keys() | new.keys()):
        was = old[case].outcome if case in old else "absent"
        is_now = new[case].outcome if case in new else "absent"
        if was != is_now:
            changed.append(((old.get(case) or new[case]).operator, case, was, is_now))
    return changed


def _newest_jobs(version: Version) -> dict[tuple[str, str, str], Job]:
    """The newest job of each check, by the path of its file, its runtime and the check."""
    return {
        (job.entry, str(job.input.get("runtime", "")), check): job
        for job in _conformance_jobs.instances(version.pk)
        for check in job.input.get("checks") or CHECKS
    }


@Prepared
def _conformance_jobs(version_id: int) -> QuerySet[Job]:
    rows = Job.objects.filter(version=version_id, kind="conformance")
    return rows.order_by("queued_at").defer("report")


def _runtimes(results: Iterable[ConformanceResult], jobs: Iterable[Job]) -> list[str]:
    """The runtimes of a matrix in a fixed order: offered ones, then those with results or jobs."""
    offered = [runtime.name for runtime in verification.current()]
    tested = {row.runtime for row in results} | {str(job.input.get("runtime", "")) for job in jobs}
    names = {*offered, *tested} - {""}
    return sorted(names, key=lambda name: (name != REFERENCE, name != ONNXRUNTIME, name))


def _targets(job: Job) -> list[UpgradeTarget]:
    return [
        UpgradeTarget(
            step.get("target"),
            str(step.get("result", "")),
            str(step.get("reason", "")),
            tuple(step.get("blocking", [])),
            job,
        )
        for step in job.typed_report.facts.get("steps", [])
        if isinstance(step, dict)
    ]
