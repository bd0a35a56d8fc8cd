"""Answers of the children of jobs, and how the parent reads them.

A child has held an upload, so its answer is read strictly (`hub.protocol.strict`): known keys of
known types, names cut, and everything else dropped. Raises JobError where nothing fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, NewType, TypeVar, get_args, get_origin

from hub.protocol import proofs, stored, strict
from hub.protocol.input_ranges import InputRanges
from runners.engine.jobs import JobError, scan_of
from runners.engine.onnx_files import text
from runners.engine.reports import Scan

MOST_ROWS = 200
# Maximum depth of nested graphs.
_MOST_STEPS = 24
_MOST_MEMBERS = 512
_NAME_CHARACTERS = 200
_EVIDENCE = re.compile(r"diverging-[A-Za-z0-9_-]{1,80}\.zip")
_FIGURES = ("cosine", "max_abs", "max_rel", "p999_rel", "top1", "ulp_max")
_WORDS = ("dataset", "dtype", "name", "profile", "reason")
_T = TypeVar("_T")

# A text of an upload, cut to 200 characters when it is read.
Name = NewType("Name", str)
Names = list[Name]
# A text of a library or an upload for people, cut to 2,000 characters when it is read.
Message = NewType("Message", str)
# The file name of the evidence of a difference; empty when it is read as anything else.
Evidence = NewType("Evidence", str)
# A finite number of either sign.
Number = NewType("Number", float)
# The comparison of one output in a report: `agreement.Figures` with the data set.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Description of a model for the checks.

    `bundled` are the usable data sets, `unusable` says why others are not, `random` are operators
    that draw random numbers. `half` and `narrow` tell of floats of 16 bits, and of 8 or fewer.
    `problem` says why the data, or the model, cannot be read.
    """

    bundled: Names = field(default_factory=list)
    left_out: int = 0
    unusable: Names = field(default_factory=list)
    problem: str = ""
    profile: str = ""
    half: bool = False
    narrow: bool = False
    nodes: int = 0
    bodies: bool = False
    inputs: Names = field(default_factory=list)
    random: Names = field(default_factory=list)
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Generated:
    """The data sets that were generated, or why there are none."""

    generated: Names
    problem: str

    @property
    def failure(self) -> str:
        return "" if self.generated else self.problem or "none were made"


@dataclass(frozen=True, slots=True)
class ShapeDifference:
    """An output whose shape in a run of a data set is not the one that the model declares.

    Shapes are words for people, such as `[batch, 3]`.
    """

    name: Name
    declared: Name
    observed: Name
    dataset: Name


@dataclass(frozen=True, slots=True)
class Ran:
    """The data sets of an origin on which a runtime failed, and how many were tried.

    `seconds` is the processor time of loading the model and running these sets. `left_out` counts
    the sets that would have exceeded the time budget. `shapes` has the first difference of each
    output.
    """

    refused: dict[str, str]
    sets: int
    seconds: float
    left_out: int = 0
    shapes: list[ShapeDifference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of the outputs of two runs.

    `worst` is the folder of the first set that disagrees.
    """

    sets: Names
    agrees: bool
    rows: list[Row]
    worst: str = ""

    @property
    def agreed(self) -> bool:
        return bool(self.sets) and self.agrees


@dataclass(frozen=True, slots=True)
class Step:
    """A node whose body contains the sought node; `iteration` is None outside of loops."""

    op: Name
    name: Name
    index: int
    body: Name
    iteration: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """The first node that differs; `path` leads to its body from outside.

    `alone` tells whether it also differs if it is run alone.
    """

    name: Name
    op: Name
    index: int
    path: list[Step]
    figures: Row
    alone: bool


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node at which two runtimes differ, the evidence file, and what is missing.

    `is_rounding` tells that every node of the graph agrees on equal inputs: what differs are
    roundings, which grow from node to node.
    """

    node: Node | None
    evidence: Evidence
    note: Message
    is_rounding: bool = False


@dataclass(frozen=True, slots=True)
class OptimisedRun:
    """A run with some passes of the optimiser: how it fails (empty: it is sound), and suspects.

    `suspects` are the passes that changed the graph, the last one first.
    """

    problem: Message
    suspects: Names


@dataclass(frozen=True, slots=True)
class ReducedModel:
    """The operators of the smallest model that fails, and its file; empty if there is none."""

    operators: Names
    evidence: Evidence


def read(kind: type[_T], answer: Any) -> _T:
    """Read an answer as one of the dataclasses above."""
    try:
        return _READER.read(kind, answer)
    except strict.UnreadableError as error:
        raise unreadable(str(error)) from error


def session(answer: Any, count: int) -> list[Ran]:
    """Read the results of a session for `count` origins, in the requested order."""
    origins = read(list[Ran], answer)
    if len(origins) != count:
        raise JobError("engine-error", f"A session answered for {len(origins)} of {count} origins.")
    return origins


def name_of(words: str) -> Name:
    """Cut a text of an upload to a name."""
    return Name(text.clip(words, _NAME_CHARACTERS))


def number(figure: Any, default: float) -> float:
    """A figure of a row as a number; the default for text such as "inf", and for None."""
    return float(figure) if isinstance(figure, int | float) else default


def unreadable(cause: str) -> JobError:
    """The error of an answer that cannot be read."""
    return JobError(
        "engine-error", f"The response of a child process has no readable value: {cause}."
    )


def _limited(kind: Any, values: list[Any], _place: str) -> list[Any]:
    """The members of a list that are read; names and texts are as many as the model has."""
    item = get_args(kind)[0]
    if item is Step:
        return values[:_MOST_STEPS]
    if not is_dataclass(item) and item != Row:
        return values
    return values[: MOST_ROWS if get_origin(kind) is list else _MOST_MEMBERS]


def _name(value: Any, place: str) -> Name:
    return name_of(strict.check(value, str, place))


def _message(value: Any, place: str) -> Message:
    return Message(text.message(strict.check(value, str, place)))


def _evidence(value: Any, place: str) -> Evidence:
    name = strict.check(value, str, place)
    return Evidence(name if _EVIDENCE.fullmatch(name) else "")


def _hidden(value: Any, place: str) -> proofs.HiddenDifference:
    row = strict.check(value, dict, place)
    worst = _figure(row.get("worst"))
    node, op = (_name(row.get(key), key) for key in ("node", "op"))
    return proofs.HiddenDifference(node, op, worst if isinstance(worst, float) else None)


def _refused(value: Any, place: str) -> dict[str, str]:
    refused = strict.check(value, dict, place)
    return {name_of(str(name)): text.message(str(why)) for name, why in refused.items()}


def _state(value: Any, place: str) -> str:
    state = strict.check(value, str, place)
    return state if state in get_args(proofs.State) else "empty"


def _row(value: Any, place: str) -> Row:
    row = strict.check(value, dict, place)
    first_bad = row.get("first_bad")
    return {
        **{key: text.message(strict.check(row[key], str, key)) for key in _WORDS if key in row},
        **{name: _figure(row.get(name)) for name in _FIGURES},
        "shape": stored.wholes(strict.check(row.get("shape"), list, "shape")),
        "agrees": strict.check(row.get("agrees"), bool, "agrees"),
        "outside": strict.check(row.get("outside"), int, "outside"),
        "first_bad": stored.whole(first_bad),
        **({"noise": _figure(row["noise"])} if "noise" in row else {}),
    }


def _figure(value: Any) -> float | str | None:
    if isinstance(value, str):
        return value if value in {"inf", "-inf", "nan"} else None
    return stored.finite(value)


_READER = strict.Reader(
    {
        int: strict.count,
        float: lambda value, place: max(0.0, strict.number(value, place)),
        Number: strict.number,
        Name: _name,
        Message: _message,
        Evidence: _evidence,
        Row: _row,
        Mapping[str, Any]: lambda value, place: strict.check(value, dict, place),
        dict[str, str]: _refused,
        proofs.State: _state,
        proofs.HiddenDifference: _hidden,
        InputRanges: InputRanges.from_json,
        Scan: lambda value, _: scan_of(value),
    },
    limit=_limited,
    is_complete=True,
)
