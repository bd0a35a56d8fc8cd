"""What the children of jobs answer, and how the parent reads it.

A child has held an upload, so its answer is taken apart: known keys of known types, names of files
that cannot lead elsewhere, and everything else dropped. Raises JobError where nothing fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NewType, TypeVar, get_args, get_origin, get_type_hints

from hub.protocol import proofs, stored
from runners.engine.jobs import JobError, scan_of
from runners.engine.onnx_files import text
from runners.engine.reports import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_ROWS = 200
# As deep as a model may nest its graphs.
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
# A finite number of either sign.
Number = NewType("Number", float)
# One output compared, as the reports have it: `agreement.Figures` with its data set.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the checks need to know of a model.

    `bundled` are the data sets that can be used, `unusable` says why others cannot, `random` are
    operators that draw random numbers. `problem` says why the data, or the model, cannot be read.
    """

    bundled: Names = field(default_factory=list)
    left_out: int = 0
    unusable: Names = field(default_factory=list)
    problem: str = ""
    profile: str = ""
    half: bool = False
    nodes: int = 0
    bodies: bool = False
    inputs: Names = field(default_factory=list)
    random: Names = field(default_factory=list)
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Upgraded:
    """Whether an upgrade made a file, and of which operator set."""

    changed: bool
    opset: int


@dataclass(frozen=True, slots=True)
class Survey:
    """Where a model stands, and how far the runtime goes: operator set and IR version.

    `source` is 0 for a model that uses nothing of the default domain.
    """

    source: int
    ir_version: int
    highest: int
    highest_ir: int


@dataclass(frozen=True, slots=True)
class Blocking:
    """A node that cannot go from one operator set to another, and why; `op` is empty for none."""

    node: Name
    op: Name
    source: int
    target: int
    reason: str

    @property
    def sentence(self) -> str:
        place = f"node {self.node!r} ({self.op}) " if self.op else ""
        sets = f"from operator set {self.source} to {self.target}"
        return f"{place}cannot go {sets}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a conversion: the rules used, and whether anything changed.

    `operators_changed` are those whose meaning differs between the two operator sets, or that a
    rule rewrites; `untouched` tells that the registry knows of none.
    """

    rules: list[str]
    changed: bool
    untouched: bool
    operators_changed: list[str]
    blocking: list[Blocking]


@dataclass(frozen=True, slots=True)
class Generated:
    """The data sets that were generated, or why there are none."""

    generated: Names
    problem: str

    @property
    def failure(self) -> str:
        return "" if self.generated else self.problem or "none were made"


@dataclass(frozen=True, slots=True)
class Ran:
    """Which data sets of one origin a runtime refused and why, and how many were tried.

    `seconds` of processor time are those of loading the model and running these sets. `left_out`
    counts the sets that would have taken more time than was allowed.
    """

    refused: dict[str, str]
    sets: int
    seconds: float
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """What one session did for each origin, in the order asked for."""

    origins: list[Ran]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides' outputs compared; `worst` is the folder of the first set that disagrees."""

    sets: Names
    agrees: bool
    rows: list[Row]
    worst: str = ""

    @property
    def agreed(self) -> bool:
        return bool(self.sets) and self.agrees


@dataclass(frozen=True, slots=True)
class OutputState:
    """What runs show about an output, and the operators that lead to it."""

    name: Name
    state: proofs.State
    operators: list[str]


@dataclass(frozen=True, slots=True)
class States:
    outputs: list[OutputState]


@dataclass(frozen=True, slots=True)
class Branch:
    """A graph inside a node; as `proofs.Branch`, with its operators."""

    node: Name
    op: Name
    name: Name
    nodes: int
    taken: bool
    zero: bool | None
    operators: list[str]
    reachable: bool

    def proof(self, changed: frozenset[str]) -> proofs.Branch:
        """The evidence, where `changed` are the operators that a step changes."""
        return proofs.Branch(
            node=self.node,
            op=self.op,
            name=self.name,
            nodes=self.nodes,
            taken=self.taken,
            zero=self.zero,
            unchanged=changed.isdisjoint(self.operators),
            reachable=self.reachable,
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """How many nodes a model has, how many ran, and which of its inner graphs were entered."""

    nodes: int
    ran: int
    branches: list[Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """A node whose body holds the one that is looked for; `iteration` is None outside of loops."""

    op: Name
    name: Name
    index: int
    body: Name
    iteration: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """The first node that differs; `path` leads to its body from outside.

    `alone` tells whether it differs on its own, too.
    """

    name: Name
    op: Name
    index: int
    path: list[Step]
    figures: Row
    alone: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """The first node of a new model that makes another value than the original."""

    name: Name
    op: Name
    figures: Row


@dataclass(frozen=True, slots=True)
class Inside:
    """How many values inside two models were compared, and the first node that differs."""

    compared: int
    node: proofs.HiddenDifference | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runtimes part, the file name of the evidence, and why something is missing."""

    node: Node | None
    evidence: str
    note: str


@dataclass(frozen=True, slots=True)
class SetRun:
    """A data set that the original ran on; of a conversion."""

    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The runs of the original: their data sets, why others are missing, and random outputs.

    `held_out` tells whether none of the calibrating data is among the sets.
    """

    sets: list[SetRun]
    reasons: list[str]
    nondeterministic: list[str]
    held_out: bool
    calibration: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Preparation:
    """What was done before the tool: operator sets, the rules between them, and other steps."""

    source: int | None
    target: int | None
    rules: list[str]
    steps: list[str]


@dataclass(frozen=True, slots=True)
class Variant:
    """How many nodes a conversion left alone."""

    left_in_float32: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What scan, checker and loader say of a variant, and the processor it was loaded on."""

    scan: Scan
    checker: str
    cpu: list[str]


@dataclass(frozen=True, slots=True)
class Parity:
    """How far a variant is from the original: a row for each output, what broke, and the worst."""

    measures: list[Mapping[str, Any]]
    broken: list[str]
    parity: Mapping[str, Any]


def read(kind: type[_T], answer: Any) -> _T:
    """Read an answer as one of the dataclasses above."""
    hints = get_type_hints(kind)
    return kind(**{name: _reader(hint)(answer, name) for name, hint in hints.items()})


def _reader(hint: Any) -> Callable[[Any, str], Any]:
    """How a field of this type is read; objects inside an answer are dataclasses, too."""
    if hint in _READERS:
        return _READERS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _member(hint)
    kind = get_args(hint)[0]
    if get_origin(hint) is tuple:
        return lambda answer, key: tuple(_many(kind, _MOST_MEMBERS)(answer, key))
    return _many(kind) if get_origin(hint) is list else _nested(kind)


def session(answer: Any, count: int) -> list[Ran]:
    """Read what one session did for each of so many origins, in the order asked for."""
    origins = read(Session, answer).origins
    if len(origins) != count:
        raise JobError("engine-error", f"A session answered for {len(origins)} of {count} origins.")
    return origins


def divergence(answer: Any) -> Divergence:
    """Read which node was found, the name of its evidence, and what is to be said of it."""
    divergence = read(Divergence, answer)
    evidence = divergence.evidence if _EVIDENCE.fullmatch(divergence.evidence) else ""
    return replace(divergence, evidence=evidence, note=text.message(divergence.note))


def name_of(words: str) -> Name:
    """Cut a text of an upload to a name."""
    return Name(text.clip(words, _NAME_CHARACTERS))


def number(figure: Any, default: float) -> float:
    """A figure of a row as a number; the default for one that is none or not finite."""
    return float(figure) if isinstance(figure, int | float) else default


def take(answer: Any, key: str, kind: type[_T]) -> _T:
    """Read one value of an answer."""
    value = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(value, kind):
        raise unreadable(key)
    return value


def unreadable(key: str) -> JobError:
    """The error of an answer whose value of this key cannot be read."""
    return JobError("engine-error", f"The response of a child process has no readable {key}.")


def _count(value: Any, key: str) -> int:
    if type(value) is not int or value < 0:
        raise unreadable(key)
    return value


def _counts(answer: Any, key: str) -> tuple[int, ...]:
    return tuple(_count(element, key) for element in take(answer, key, list))


def _sizes(answer: Any, key: str) -> tuple[int | None, ...] | None:
    if answer.get(key) is None:
        return None
    sizes = take(answer, key, list)
    return tuple(None if size is None else _count(size, key) for size in sizes)


def _number(answer: Any, key: str) -> float:
    value = stored.finite(answer.get(key))
    if value is None:
        raise unreadable(key)
    return value


def _name(answer: Any, key: str) -> Name:
    return name_of(take(answer, key, str))


def _optional(kind: type[_T]) -> Callable[[Any, str], _T | None]:
    return lambda answer, key: None if answer.get(key) is None else take(answer, key, kind)


def _member(kind: type[StrEnum]) -> Callable[[Any, str], StrEnum]:
    def read_member(answer: Any, key: str) -> StrEnum:
        value = take(answer, key, str)
        if value not in list(kind):
            raise unreadable(key)
        return kind(value)

    return read_member


def _nested(kind: type[_T]) -> Callable[[Any, str], _T | None]:
    return lambda answer, key: None if answer.get(key) is None else read(kind, answer[key])


def _many(kind: type[_T], most: int = MOST_ROWS) -> Callable[[Any, str], list[_T]]:
    return lambda answer, key: [read(kind, row) for row in take(answer, key, list)[:most]]


def _hidden(answer: Any, key: str) -> proofs.HiddenDifference | None:
    node = answer.get(key)
    if node is None:
        return None
    worst = _figure(node, "worst")
    name, op = _name(node, "node"), _name(node, "op")
    return proofs.HiddenDifference(name, op, worst if isinstance(worst, float) else None)


def _refused(answer: Any, key: str) -> dict[str, str]:
    refused = take(answer, key, dict)
    return {name_of(str(name)): text.message(str(why)) for name, why in refused.items()}


def _state(answer: Any, key: str) -> str:
    state = take(answer, key, str)
    return state if state in get_args(proofs.State) else "empty"


def _row(row: Any) -> Row:
    first_bad = row.get("first_bad") if isinstance(row, dict) else None
    return {
        **{word: text.message(take(row, word, str)) for word in _WORDS if word in row},
        **{name: _figure(row, name) for name in _FIGURES},
        "shape": [size for size in take(row, "shape", list) if isinstance(size, int)],
        "agrees": take(row, "agrees", bool),
        "outside": take(row, "outside", int),
        "first_bad": first_bad if isinstance(first_bad, int) else None,
        **({"noise": _figure(row, "noise")} if "noise" in row else {}),
    }


def _figure(row: Any, key: str) -> float | str | None:
    value = row.get(key) if isinstance(row, dict) else None
    if isinstance(value, str):
        return value if value in {"inf", "-inf", "nan"} else None
    return float(value) if isinstance(value, int | float) else None


_READERS: dict[Any, Callable[[Any, str], Any]] = {
    str: lambda answer, key: take(answer, key, str),
    int: lambda answer, key: _count(take(answer, key, int), key),
    float: lambda answer, key: max(0.0, take(answer, key, float)),
    bool: lambda answer, key: take(answer, key, bool),
    bool | None: _optional(bool),
    int | None: _optional(int),
    Number: _number,
    tuple[int, ...]: _counts,
    tuple[int | None, ...] | None: _sizes,
    Name: _name,
    Names: lambda answer, key: [name_of(str(name)) for name in take(answer, key, list)],
    list[str]: lambda answer, key: list(map(str, take(answer, key, list))),
    dict[str, str]: _refused,
    proofs.State: _state,
    list[Row]: lambda answer, key: [_row(row) for row in take(answer, key, list)[:MOST_ROWS]],
    Row: lambda answer, key: _row(take(answer, key, dict)),
    Mapping[str, Any]: lambda answer, key: take(answer, key, dict),
    Mapping[str, Any] | None: _optional(dict),
    list[Mapping[str, Any]]: lambda answer, key: take(answer, key, list),
    Scan: lambda answer, key: scan_of(take(answer, key, dict)),
    list[Step]: _many(Step, _MOST_STEPS),
    proofs.HiddenDifference | None: _hidden,
}
