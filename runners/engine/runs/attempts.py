"""Runs of a model: one session on some origins of data sets, and how it ended for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from runners.engine.runs.answers import Ran, ShapeDifference
from runners.engine.runs.child_runs import FileKind, ModelFile

# Tag of a repeated run in a new session.
AGAIN = "again"


class RunStatus(StrEnum):
    """How a run of a model ended.

    `UNSUPPORTED`: the runtime lacks an operator; `UNPREPARED`: the machine lacks something that the
    runtime needs; `REFUSED`: the model was not loaded; `DIED`: the child crashed or exceeded a
    limit; `LATE`: the job ran out of time; `NONE`: there are no inputs.
    """

    RAN = "ran"
    UNSUPPORTED = "unsupported"
    UNPREPARED = "unprepared"
    REFUSED = "refused"
    DIED = "died"
    LATE = "late"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of running a model on all data sets of one origin.

    `results` is the folder of the outputs; `refused` maps names of data sets that failed to the
    reason; `sets` counts all sets that were tried; `note` says why a run is incomplete; `signal`
    tells whether a signal ended the child; `seconds` is processor time; `shapes` are those outputs
    that contradict the declared shapes.
    """

    status: RunStatus
    results: Path
    reason: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    sets: int = 0
    file_kind: FileKind | None = None
    note: str = ""
    signal: bool = False
    seconds: float = 0.0
    shapes: Sequence[ShapeDifference] = ()

    @property
    def ran(self) -> int:
        """Number of data sets that have outputs."""
        return self.sets - len(self.refused)

    @property
    def has_outputs(self) -> bool:
        """Whether the model ran on at least one data set."""
        return self.status == RunStatus.RAN and self.ran > 0


@dataclass(frozen=True, slots=True)
class Session:
    """Runs of the data sets of some origins, which load the model once.

    A repeated run has another `tag`.
    """

    runtime: str
    origins: Sequence[str]
    model_file: ModelFile
    optimise: bool = True
    tag: str = ""

    @property
    def keys(self) -> list[str]:
        """Names of the runs of the origins."""
        tag = self.tag if self.optimise else f"{self.tag}unoptimised"
        kind = self.model_file.kind
        return [key_of(self.runtime, origin, kind, tag) for origin in self.origins]

    @property
    def name(self) -> str:
        """Name of the stage that makes the runs."""
        return f"run {' and '.join(self.keys)}"


def attempt_of(run: Ran, results: Path, model_file: ModelFile) -> Attempt:
    note = f"{run.left_out} larger inputs left out to save time" if run.left_out else ""
    return Attempt(
        RunStatus.RAN,
        results,
        refused=run.refused,
        sets=run.sets,
        file_kind=model_file.kind,
        note=note,
        seconds=run.seconds,
        shapes=run.shapes,
    )


def key_of(runtime: str, origin: str, file_kind: FileKind, tag: str) -> str:
    return "-".join(part for part in (runtime, origin, file_kind, tag) if part)
