"""The REST operations of scoreboard, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, part


@dataclass(frozen=True, kw_only=True)
class Case:
    """The outcome of one case."""

    case: str
    operator: str
    opset: int | None
    outcome: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """A test case whose outcome differs in the other run."""

    operator: str
    case: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Score:
    """One run of the ONNX backend node tests."""

    runtime: str
    runtime_version: str
    onnx_version: str
    started_at: datetime
    finished_at: datetime | None
    cases: int
    totals: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The outcomes of the cases of an operator or an opset."""

    operator: str | None = None
    opset: int | None = None
    totals: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class ScoreDetail(Score):
    """A run by operator and opset, with the differences from another run."""

    operators: tuple[Tally, ...]
    opsets: tuple[Tally, ...]
    changes: tuple[Change, ...]


class ScoreboardGroup(Group):
    """The operations of scoreboard."""

    def list(self) -> tuple[Score, ...]:
        """List the runs of the ONNX operator test suite."""
        return self._items(Score, "GET", "scoreboard")

    def cases(
        self,
        runtime: str,
        version: str,
        *,
        operator: str | None = None,
        outcome: Literal["crashed", "failed", "passed", "timed-out", "unsupported"] | None = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Case]:
        """List test cases by operator; filter with `operator` and `outcome`."""
        return self._pages(
            Case,
            f"scoreboard/{part(runtime)}/{part(version)}/cases",
            query={"operator": operator, "outcome": outcome},
            limit=limit,
        )

    def read(
        self,
        runtime: str,
        version: str,
        *,
        with_: Annotated[str | None, "version to compare with"] = None,
    ) -> ScoreDetail:
        """Read a run by operator and opset; `with` compares it with another version's."""
        return self._call(
            ScoreDetail, "GET", f"scoreboard/{part(runtime)}/{part(version)}", query={"with": with_}
        )
