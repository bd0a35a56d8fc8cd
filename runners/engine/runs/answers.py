"""Answers of the children of jobs, and how the parent reads them.

A child has read an upload, so its answer is untrusted: only known keys of known types and safe file
names are read, everything else is dropped. Raises JobError for an unreadable answer.
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
# A finite number of either sign.
Number = NewType("Number", float)
# The comparison of one output in a report: `agreement.Figures` with the data set.
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Description of a model for the checks.

    `bundled` are the usable data sets, `unusable` says why others are not, `random` are operators
    that draw random numbers. `problem` says why the data, or the model, cannot be read.
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
    """Whether an upgrade made a file, and its opset."""

    changed: bool
    opset: int


@dataclass(frozen=True, slots=True)
class Survey:
    """Opset and IR version of a model, and the highest ones that the runtime loads.

    `source` is 0 for a model without operators of the default domain.
    """

    source: int
    ir_version: int
    highest: int
    highest_ir: int


@dataclass(frozen=True, slots=True)
class Blocking:
    """A node that cannot be converted between two opsets, and why; `op` is empty for none."""

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
    """Result of a conversion: the rules used, and whether anything changed.

    `operators_changed` are those whose meaning differs between the two opsets, or that a rule
    rewrites; `untouched` tells that the operator schemas list no change.
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
    """The data sets of an origin on which a runtime failed, and how many were tried.

    `seconds` is the processor time of loading the model and running these sets. `left_out` counts
    the sets that would have exceeded the time budget.
    """

    refused: dict[str, str]
    sets: int
    seconds: float
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """Results of one session for each origin, in the requested order."""

    origins: list[Ran]


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
class OutputState:
    """The state of an output over all runs, and the operators that lead to it."""

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
        """The evidence, given the operators that a conversion changes."""
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
    """Number of nodes, number of nodes that ran, and which inner graphs were entered."""

    nodes: int
    ran: int
    branches: list[Branch] = field(default_factory=list)


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
class Difference:
    """The first node of a new model whose value differs from the original's."""

    name: Name
    op: Name
    figures: Row


@dataclass(frozen=True, slots=True)
class Inside:
    """Number of compared intermediate values, and the first node that differs."""

    compared: int
    node: proofs.HiddenDifference | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node at which two runtimes differ, the evidence file, and what is missing."""

    node: Node | None
    evidence: str
    note: str


@dataclass(frozen=True, slots=True)
class SetRun:
    """A data set that the original ran on; for conversions."""

    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Runs of the original: data sets, why others are missing, nondeterministic outputs.

    `held_out` tells whether no calibration data is among the sets.
    """

    sets: list[SetRun]
    reasons: list[str]
    nondeterministic: list[str]
    held_out: bool
    calibration: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Preparation:
    """The preparation of a model for a tool: opsets, rules between them, and other steps."""

    source: int | None
    target: int | None
    rules: list[str]
    steps: list[str]


@dataclass(frozen=True, slots=True)
class Variant:
    """Number of nodes that a conversion left in float32."""

    left_in_float32: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """Results of scan, checker and loader for a variant, and the processor that loaded it."""

    scan: Scan
    checker: str
    cpu: list[str]


@dataclass(frozen=True, slots=True)
class Parity:
    """Distance of a variant from the original: a row for each output, failures, and the worst."""

    measures: list[Mapping[str, Any]]
    broken: list[str]
    parity: Mapping[str, Any]


def read(kind: type[_T], answer: Any) -> _T:
    """Read an answer as one of the dataclasses above."""
    hints = get_type_hints(kind)
    return kind(**{name: _reader(hint)(answer, name) for name, hint in hints.items()})


def _reader(hint: Any) -> Callable[[Any, str], Any]:
    """The reader of a field type; nested objects are dataclasses, too."""
    if hint in _READERS:
        return _READERS[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _member(hint)
    kind = get_args(hint)[0]
    if get_origin(hint) is tuple:
        return lambda answer, key: tuple(_many(kind, _MOST_MEMBERS)(answer, key))
    return _many(kind) if get_origin(hint) is list else _nested(kind)


def session(answer: Any, count: int) -> list[Ran]:
    """Read the results of a session for `count` origins, in the requested order."""
    origins = read(Session, answer).origins
    if len(origins) != count:
        raise JobError("engine-error", f"A session answered for {len(origins)} of {count} origins.")
    return origins


def divergence(answer: Any) -> Divergence:
    """Read the first node that differs, its evidence file and its note."""
    divergence = read(Divergence, answer)
    evidence = divergence.evidence if _EVIDENCE.fullmatch(divergence.evidence) else ""
    return replace(divergence, evidence=evidence, note=text.message(divergence.note))


def name_of(words: str) -> Name:
    """Cut a text of an upload to a name."""
    return Name(text.clip(words, _NAME_CHARACTERS))


def number(figure: Any, default: float) -> float:
    """A figure of a row as a number; the default for text such as "inf", and for None."""
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
