"""The combined verdict of a variant's checks on a runtime, used by all pages and counts.

A check fails by the fault of the runtime, of its graph optimiser or of the model. Untested checks,
undecided ones, and wrong data or a wrong reference are no failures: they are counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hub.protocol import filters
from registry.catalogue import documents
from registry.catalogue.searchable import Fact
from registry.models import Version
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import selectors

_Check, _Outcome = ConformanceResult.Check, ConformanceResult.Outcome
# Checks that compare a runtime with something else, and their outcomes that mean that there was
# nothing to compare with.
_COMPARISONS = frozenset({_Check.BUNDLED, _Check.REFERENCE})
_NOTHING_THERE = frozenset({_Outcome.INAPPLICABLE, _Outcome.UNTESTED})


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of passed and failed checks; ``apart`` counts the others by verdict."""

    passed: int
    failed: int
    apart: tuple[tuple[ConformanceVerdict, int], ...]

    @property
    def judged(self) -> int:
        """Number of checks of which a share may be given."""
        return self.passed + self.failed


def connect() -> None:
    """Update lists of verdicts when one is added."""
    documents.contribute("verdicts", ("conformance.added",), of)


def tally(results: Iterable[ConformanceResult]) -> Tally:
    """Count results; inapplicable checks are not counted."""
    rows = list(results)
    passed = sum(row.outcome == _Outcome.PASSED for row in rows)
    failed = sum(row.outcome == _Outcome.FAILED for row in rows)
    others = Counter(
        row.verdict
        for row in rows
        if row.outcome not in (_Outcome.PASSED, _Outcome.FAILED)
        and row.verdict != ConformanceVerdict.INAPPLICABLE
    )
    order = list(ConformanceVerdict)
    return Tally(
        passed, failed, tuple(sorted(others.items(), key=lambda item: order.index(item[0])))
    )


def together(results: Iterable[ConformanceResult]) -> ConformanceVerdict:
    """The verdict on one variant and one runtime.

    It is passed if a check passed, none failed, and the runtime agrees with the bundled data or the
    reference, if there is one of these to compare with. Before the comparison with the reference is
    done, only the bundled data can show that.
    """
    rows = list(results)
    outcomes = {row.outcome for row in rows}
    failures = {row.verdict for row in rows if row.outcome == _Outcome.FAILED}
    if failures == {ConformanceVerdict.WRONG_OPTIMISER}:
        return ConformanceVerdict.WRONG_OPTIMISER
    if failures:
        return ConformanceVerdict.FAILED
    compared = {row.outcome for row in rows if row.check_kind in _COMPARISONS}
    is_whole = any(row.check_kind == _Check.REFERENCE for row in rows)
    agrees = _Outcome.PASSED in compared or (is_whole and compared <= _NOTHING_THERE)
    if _Outcome.PASSED in outcomes and agrees:
        return ConformanceVerdict.PASSED
    others = {row.verdict for row in rows}
    for verdict in (
        ConformanceVerdict.DOES_NOT_RUN,
        ConformanceVerdict.WRONG_DATA,
        ConformanceVerdict.WRONG_REFERENCE,
    ):
        if verdict in others:
            return verdict
    if outcomes - {_Outcome.INAPPLICABLE}:
        return ConformanceVerdict.CANT_TELL
    return ConformanceVerdict.INAPPLICABLE


def is_uncompared(results: Iterable[ConformanceResult]) -> bool:
    """Whether a variant runs on a runtime, but has not been compared with anything else yet."""
    rows = list(results)
    return any(row.outcome == _Outcome.PASSED for row in rows) and not any(
        row.check_kind == _Check.REFERENCE
        or (row.check_kind == _Check.BUNDLED and row.outcome not in _NOTHING_THERE)
        for row in rows
    )


def of(version: Version) -> set[Fact]:
    """Runtimes on which some variant fails, and those on which the main one passes or is stuck.

    A variant is stuck if it runs on no input although no party is at fault.
    """
    results = selectors.results_of(version)
    main = version.variants.order_by("pk").values_list("pk", flat=True).first()
    of_main: dict[str, list[ConformanceResult]] = defaultdict(list)
    for result in results:
        if result.variant_id == main:
            of_main[result.runtime].append(result)
    failed = {
        (filters.FAILS_ON.name, result.runtime)
        for result in results
        if result.outcome == ConformanceResult.Outcome.FAILED
    }
    groups = {
        ConformanceVerdict.PASSED: filters.PASSES_ON.name,
        ConformanceVerdict.DOES_NOT_RUN: "does_not_run_on",
    }
    by_runtime = {runtime: together(rows) for runtime, rows in of_main.items()}
    return failed | {
        (groups[verdict], runtime) for runtime, verdict in by_runtime.items() if verdict in groups
    }
