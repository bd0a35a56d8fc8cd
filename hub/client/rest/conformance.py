"""The REST operations of conformance, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job


@dataclass(frozen=True, kw_only=True)
class Conformance:
    """The result of one check of a variant on a version of a runtime; outcomes as in EARL 1.0."""

    id: int
    variant: str
    entry_sha256: str
    runtime: str
    runtime_version: str
    check: str
    outcome: str
    # cause of the failure
    blames: str
    graph_pass: str | None = None
    # the outcome in one word; only `failed`, `optimiser-wrong`, and `does-not-run` with the outcome
    # `failed`, count against the model or the runtime
    verdict: str
    # whether the runtime completed at least one input; null if it was not tried or the result
    # predates this field
    runs: bool | None
    reason: str
    # the tolerance profile
    profile: str
    datasets: int
    seconds: float
    # the first node that diverged: name, op, index in its graph, figures, alone, and path: the
    # bodies that it stands in from the outside, each with op, name, index, body and iteration (from
    # 0; null outside of loops)
    node: Any
    at: datetime
    job: str
    # the extracted node, with its inputs
    evidence: str | None
    url: str


@dataclass(frozen=True, kw_only=True)
class ConformanceDetail(Conformance):
    """A result with its figures for each data set and output."""

    figures: Any
    # versions of the tools used
    versions: dict[str, str]


class ConformanceGroup(Group):
    """The operations of conformance."""

    def list(
        self,
        model: str,
        number: int,
        *,
        history: Annotated[bool | None, "include older results"] = None,
        runtime: str | None = None,
        variant: str | None = None,
    ) -> tuple[Conformance, ...]:
        """List conformance results: the newest of each check on each runtime."""
        return self._items(
            Conformance,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/conformance",
            query={"history": history, "runtime": runtime, "variant": variant},
        )

    def read(self, model: str, number: int, id: int) -> ConformanceDetail:
        """Read a conformance result with its figures."""
        return self._call(
            ConformanceDetail,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/conformance/{part(id)}",
        )

    def run(
        self, model: str, number: int, *, variant: str | None = None, runtime: str | None = None
    ) -> tuple[Job, ...]:
        """Run the conformance checks again. Returns the jobs."""
        return self._items(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/conformance",
            content=json_of({"variant": variant, "runtime": runtime}),
        )
