"""The columns of runtimes of the list of models: where each model passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frontend.parts import labels as words
from hub.protocol import filters
from registry.catalogue import facets
from registry.models import SearchDocument

# Runtimes that have a column, those that most models pass on.
MOST = 5
_GROUPS = (filters.PASSES_ON.name, filters.FAILS_ON.name, "does_not_run_on")
# By whether the main variant passes, and whether some variant fails: the shape, and what it says.
_OUTCOMES = {
    (True, False): ("passed", "passes"),
    (True, True): ("warning", "passes, but a variant fails"),
    (False, True): ("failed", "fails"),
    (False, False): ("not run", "no verdict"),
}
_DOES_NOT_RUN = ("does not run", "does not run")


def of(runtimes: Sequence[str], documents: Sequence[SearchDocument]) -> dict[str, Any]:
    """The columns for these runtimes, those that most models pass on first."""
    columns = runtimes[:MOST]
    facts = facets.of_documents([document.pk for document in documents], _GROUPS) if columns else {}
    cells = {
        document.pk: tuple(_outcome(runtime, facts.get(document.pk, set())) for runtime in columns)
        for document in documents
    }
    return {
        "runtimes": tuple(words.runtime(runtime) for runtime in columns),
        "cells": cells,
    }


def _outcome(runtime: str, facts: set[tuple[str, str]]) -> tuple[str, str, str]:
    passes, fails, is_stuck = (((group, runtime) in facts) for group in _GROUPS)
    outcome = _DOES_NOT_RUN if is_stuck and not fails else _OUTCOMES[passes, fails]
    return words.runtime(runtime), *outcome
