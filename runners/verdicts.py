"""On which runtimes a version passes or fails, as lists of models can be asked for it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from registry import documents
from runners import proofs
from runners.models import ConformanceResult

if TYPE_CHECKING:
    from registry.models import Version
    from registry.searchable import Fact

_NOTHING_SAID = frozenset({ConformanceResult.Outcome.INAPPLICABLE})
_PASSED = frozenset({ConformanceResult.Outcome.PASSED})


def connect() -> None:
    """Tell lists of verdicts, anew when one is added."""
    documents.contribute("verdicts", ("conformance.added",), of)


def of(version: Version) -> set[Fact]:
    """The runtimes that some variant fails on, and those that the main variant passes on.

    It passes where every check that applies passed, and one did.
    """
    results = proofs.results_of(version)
    main = version.variants.order_by("pk").values_list("pk", flat=True).first()
    outcomes: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.variant_id == main:
            outcomes[result.runtime].add(result.outcome)
    failed = {
        ("fails_on", result.runtime)
        for result in results
        if result.outcome == ConformanceResult.Outcome.FAILED
    }
    passed = {
        ("passes_on", runtime)
        for runtime, found in outcomes.items()
        if found - _NOTHING_SAID == _PASSED
    }
    return failed | passed
