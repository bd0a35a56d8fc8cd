"""The columns of runtimes of the list of models: where each model passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.urls import reverse

from frontend.parts import labels as words
from registry.catalogue import facets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from registry.models import SearchDocument

# Runtimes that have a column, those that most models pass on.
MOST = 5
_GROUPS = ("passes_on", "fails_on", "does_not_run_on")
# By whether the main variant passes, and whether some variant fails: the shape, and what it says.
_OUTCOMES = {
    (True, False): ("passed", "passes"),
    (True, True): ("warning", "passes, but a variant fails"),
    (False, True): ("failed", "fails"),
    (False, False): ("not run", "no verdict"),
}
_DOES_NOT_RUN = ("does not run", "does not run")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one model did on one runtime."""

    runtime: str
    shape: str
    words: str


@dataclass(frozen=True, slots=True)
class Passing:
    """Names of runtimes, and the outcomes on them by the address of each model's page."""

    runtimes: tuple[str, ...]
    cells: Mapping[str, tuple[Outcome, ...]]


def of(runtimes: Sequence[str], found: Sequence[SearchDocument]) -> Passing:
    """The columns for these runtimes, those that most models pass on first."""
    shown = runtimes[:MOST]
    facts = facets.of_documents([document.pk for document in found], _GROUPS) if shown else {}
    cells = {
        reverse("model", args=[document.namespace_slug, document.model.name]): tuple(
            _outcome(runtime, facts.get(document.pk, set())) for runtime in shown
        )
        for document in found
    }
    return Passing(tuple(words.runtime(runtime) for runtime in shown), cells)


def _outcome(runtime: str, facts: set[tuple[str, str]]) -> Outcome:
    passes, fails, is_stuck = (((group, runtime) in facts) for group in _GROUPS)
    said = _DOES_NOT_RUN if is_stuck and not fails else _OUTCOMES[passes, fails]
    return Outcome(words.runtime(runtime), *said)
