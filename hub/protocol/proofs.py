"""How far an upgraded model was shown to equal its original: a strength, and the evidence for it.

A proof says on how many inputs both were compared and what these covered, which nodes and branches
ran, how far apart the outputs were beside the original's own noise, which runtimes judged, and how
the conversion of each changed node was searched apart from the model. It is read once, where a
worker's report or a stored row enters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar

from hub import counting
from hub.protocol import phrases, strict

METHOD = 3
_MOST_ROWS = 200
_WORD_CHARACTERS = 300
_EXAMPLES = 3
_SHA256 = re.compile(r"[0-9a-f]{64}")

State = Literal["compared", "independent", "constant", "not-finite", "empty"]


class Strength(StrEnum):
    """How far an upgraded model was shown to equal its original; `WORDS` says what each is."""

    CERTIFIED = "certified"
    SAMPLED = "sampled"
    SCHEMA = "schema"
    PARTIAL = "partial"
    EARLIER_METHOD = "earlier-method"


class SearchOutcome(StrEnum):
    """How the search for a difference in the conversion of one node ended."""

    CERTIFIED = "certified"
    # Equal, except on the values or empty inputs, or for want of sizes, that the limits name.
    LIMITED = "limited"
    DIFFERENT = "different"
    # The rules or the library cannot convert the node.
    NOT_CONVERTED = "not-converted"
    # The runtime does not run the node, or too few of the inputs.
    NOT_RUN = "not-run"
    # The node cannot be taken out of its model, for example since it holds graphs.
    NO_KEY = "no-key"


# Outcomes of searches that noticed no difference on their domain.
EQUAL = frozenset({SearchOutcome.CERTIFIED, SearchOutcome.LIMITED})
# With one of these, an upgraded variant stands in for its original wherever an opset is asked for:
# by the least strength that is demanded, which each request may name and each hub has a default of.
SUFFICIENT: dict[Strength, frozenset[Strength]] = {
    Strength.CERTIFIED: frozenset({Strength.CERTIFIED, Strength.SCHEMA}),
    Strength.SAMPLED: frozenset({Strength.CERTIFIED, Strength.SCHEMA, Strength.SAMPLED}),
}
BY_SCHEMA = "schema-registry"

# What each strength means, for pages, tables and descriptions.
WORDS: dict[Strength, str] = {
    Strength.CERTIFIED: (
        "equal on every input that ran, and the conversion of each changed node is certified for "
        "the sizes and values that the model declares or its runs used"
    ),
    Strength.SAMPLED: "equal on every input that ran; nothing is claimed for others",
    Strength.SCHEMA: "no operator of the model has a different meaning at the other opset",
    Strength.PARTIAL: (
        "equal where compared; but a branch was never entered, an output or some of its elements "
        "prove nothing, or internal values differ"
    ),
    Strength.EARLIER_METHOD: (
        "recorded by an older method, without evidence; repeated in the background"
    ),
}
_JUDGES = {
    "original": "ONNX Runtime",
    "reference": "the reference",
    "bundled-data": "the bundled data",
    BY_SCHEMA: "the operator schemas",
}
_UNCHANGED = " (no operator changed there)"
_OUTCOMES: dict[SearchOutcome, str] = {
    SearchOutcome.DIFFERENT: "differs when run alone",
    SearchOutcome.NOT_CONVERTED: "not converted when alone",
    SearchOutcome.NOT_RUN: "not run alone",
    SearchOutcome.NO_KEY: "not searched",
}
_STATES = {
    "empty": "has no elements on any input",
    "not-finite": "has no finite value on any input",
    "constant": "is the same on every input",
}


class InvalidProofError(ValueError):
    """Data that is no proof; the message names the field."""


@dataclass(frozen=True, slots=True)
class UnseenElements:
    """Elements of an output that were not finite on any input, so that none was compared.

    They are `count` of `elements`, from the flat index `first` on, in the shape of which the most
    was seen.
    """

    count: int
    elements: int
    first: int


@dataclass(frozen=True, slots=True)
class Output:
    """What the inputs showed about one output.

    "compared" outputs varied and were equal; "independent" ones depend on no input. The others
    prove nothing. `worst` is the largest absolute difference, `noise` the original's own; both in
    units of the output, None where not measured. `unchanged`: no operator that leads to it means
    anything else in the other operator set.
    """

    name: str
    state: State
    worst: float | None = None
    noise: float | None = None
    unchanged: bool = False
    unseen: UnseenElements | None = None

    @property
    def shows_nothing(self) -> bool:
        """Whether no element of it is evidence."""
        return self.state not in {"compared", "independent"}

    @property
    def is_gap(self) -> bool:
        return self.shows_nothing or self.unseen is not None

    @property
    def sentence(self) -> str:
        """What is wrong with it as evidence; nothing where nothing is."""
        if not self.is_gap:
            return ""
        rest = _UNCHANGED if self.unchanged else ""
        if self.unseen is None or self.shows_nothing:
            return f"output {self.name!r} {_STATES[self.state]}{rest}"
        part = f"{self.unseen.count} of {self.unseen.elements} elements of output {self.name!r}"
        return (
            f"{part} have no finite value on any input, from element {self.unseen.first} on{rest}"
        )


@dataclass(frozen=True, slots=True)
class Branch:
    """One graph inside a node: a branch of `If`, or the body of a loop.

    `taken` tells whether any input entered it; `zero` whether some input ran the loop without an
    iteration (None for branches). `unchanged`: none of its operators means anything else in the
    other operator set. `reachable` is False where no input leads there: the condition is stored,
    or follows from sizes that the model fixes.
    """

    node: str
    op: str
    name: str
    nodes: int
    taken: bool
    zero: bool | None = None
    unchanged: bool = False
    reachable: bool = True

    @property
    def is_gap(self) -> bool:
        return self.reachable and not self.taken

    @property
    def sentence(self) -> str:
        """That it was not entered, and what that leaves open; nothing where it was."""
        if not self.is_gap:
            return ""
        rest = _UNCHANGED if self.unchanged else ""
        return f"{self.name} of {self.node!r} ({self.op}) never entered{rest}"


@dataclass(frozen=True, slots=True)
class HiddenDifference:
    """The first node inside that gave other values than in the original, which no output shows.

    `worst` is the largest absolute difference, None where it is not finite.
    """

    node: str
    op: str
    worst: float | None = None
    is_gap: ClassVar[bool] = True
    unchanged: ClassVar[bool] = False

    @property
    def sentence(self) -> str:
        size = "" if self.worst is None else f" by {_figure(self.worst)}"
        return f"values inside differ{size} from node {self.node!r} ({self.op}) on, unseen so far"


@dataclass(frozen=True, slots=True)
class RefusedInputs:
    """Inputs that the original refuses and the new model answers.

    `reason` is what the runtime says of the first of them.
    """

    count: int
    reason: str
    is_gap: ClassVar[bool] = True
    unchanged: ClassVar[bool] = False

    @property
    def sentence(self) -> str:
        subject = "1 input is" if self.count == 1 else f"{self.count} inputs are"
        return f"{subject} refused by the original alone: {self.reason}"


_Gap = Output | Branch | HiddenDifference | RefusedInputs


@dataclass(frozen=True, slots=True)
class NodeCertificate:
    """How the conversion of a changed node was searched, for `nodes` equal nodes of the model.

    `key` is the SHA-256 of what identifies the conversion in hexadecimal digits, empty with
    `no-key` alone. `covers`: the domain that was searched has the sizes and values that the model
    declares or that its runs used. `reason` says why it is not certified, or what is not covered.
    `exact`: outputs were equal bit by bit, and not up to the rounding of the original.
    """

    op: str
    key: str
    nodes: int
    outcome: SearchOutcome
    reason: str = ""
    covers: bool = False
    exact: bool = False

    @property
    def is_certified(self) -> bool:
        """Whether no difference was noticed on a domain that has all that the model needs."""
        return self.outcome in EQUAL and self.covers

    @property
    def is_gap(self) -> bool:
        return not self.is_certified

    @property
    def sentence(self) -> str:
        """What it leaves open; nothing where it certifies."""
        if self.is_certified:
            return ""
        count = "" if self.nodes == 1 else f" ({counting.plural(self.nodes, 'node')})"
        words = "certified for other inputs" if self.outcome in EQUAL else _OUTCOMES[self.outcome]
        return f"{self.op}{count} {words}{f': {self.reason}' if self.reason else ''}"


@dataclass(frozen=True, slots=True)
class InputRanges:
    """What the inputs of all runs covered; None where no input has such sizes or values.

    `smallest_side` and `largest_side` are sizes of free dimensions. `largest` is the greatest
    absolute value of floating inputs that is finite, `smallest` the least that is not 0.
    """

    smallest_side: int | None = None
    largest_side: int | None = None
    largest: float | None = None
    smallest: float | None = None
    least_integer: int | None = None
    greatest_integer: int | None = None

    @property
    def sentence(self) -> str:
        """Such as "sides 32 to 96, |x| ≤ 4e+04"; empty where nothing is recorded."""
        parts = []
        if self.smallest_side is not None and self.largest_side is not None:
            is_fixed = self.smallest_side == self.largest_side
            sides = f"sides {self.smallest_side} to {self.largest_side}"
            parts.append(f"side {self.largest_side}" if is_fixed else sides)
        if self.largest is not None:
            parts.append(f"|x| ≤ {_figure(self.largest)}")
        if self.smallest is not None:
            parts.append(f"nonzero |x| ≥ {_figure(self.smallest)}")
        if self.least_integer is not None and self.greatest_integer is not None:
            is_fixed = self.least_integer == self.greatest_integer
            integers = f"integers {self.least_integer} to {self.greatest_integer}"
            parts.append(f"integer {self.least_integer}" if is_fixed else integers)
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence that a model and its upgrade give the same outputs.

    `nodes` counts the nodes of all graphs of the model (functions not inlined count once for each
    call), `ran` those that ran on some input; None where not recorded. `tolerance` is set where the
    original's own noise could not be measured, since the runtime does not run it. `inner` counts
    the values inside both models that were compared too, in bodies once for each iteration; None
    where they were not. `refused` are inputs on which the new model alone runs. `certificates`
    has a row for each different key of the changed nodes, inside bodies and functions too, and is
    empty where the meaning of no operator differs; `ranges` say what the inputs covered. Both are
    None where they are not recorded.
    """

    judges: tuple[str, ...]
    bundled: int = 0
    declared: int = 0
    generated: int = 0
    nodes: int | None = None
    ran: int | None = None
    worst: float | None = None
    noise: float | None = None
    tolerance: str = ""
    outputs: tuple[Output, ...] = ()
    branches: tuple[Branch, ...] = ()
    inner: int | None = None
    hidden: HiddenDifference | None = None
    refused: RefusedInputs | None = None
    certificates: tuple[NodeCertificate, ...] | None = None
    ranges: InputRanges | None = None
    method: int = METHOD

    @property
    def strength(self) -> Strength:
        """How much the evidence is worth; see `SUFFICIENT`.

        What did not run but means the same at both operator sets is no gap; it adds nothing to the
        nodes that did run.
        """
        if self.judges == (BY_SCHEMA,):
            return Strength.SCHEMA
        if self.ran is None or not all(gap.unchanged for gap in self._open()):
            return Strength.PARTIAL
        if self.certificates is None:
            return Strength.SAMPLED
        if not self.certificates:
            return Strength.SCHEMA
        is_certified = all(row.is_certified for row in self.certificates)
        return Strength.CERTIFIED if is_certified else Strength.SAMPLED

    @property
    def proves_nothing(self) -> bool:
        """Whether no output carries evidence, neither by runs nor by the operator schemas."""
        return self.judges != (BY_SCHEMA,) and all(
            output.shows_nothing and not output.unchanged for output in self.outputs
        )

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the proof leaves open, a sentence each."""
        return tuple(gap.sentence for gap in self._open())

    def _open(self) -> list[_Gap]:
        every = [*self.outputs, *self.branches, self.hidden, self.refused]
        return [row for row in every if row is not None and row.is_gap]

    @property
    def brief(self) -> str:
        """The strength in a few words, such as "equal on 3 bundled and 16 generated inputs"."""
        if self.judges == (BY_SCHEMA,):
            return "not run: no operator changed"
        verb = "equal" if self.strength != Strength.PARTIAL else "equal where compared,"
        return f"{verb} on {self._inputs()}"

    @property
    def sentence(self) -> str:
        """The proof as a sentence, such as "equal on 3 bundled and 16 generated inputs, ..."."""
        if self.judges == (BY_SCHEMA,):
            return self.brief
        ranges = "" if self.ranges is None else self.ranges.sentence
        parts = [self.brief, ranges, self._coverage(), self._difference()]
        parts.append(
            f"judged by {phrases.conjunction([_JUDGES.get(judge, judge) for judge in self.judges])}"
        )
        return "; ".join(
            [", ".join(filter(None, parts)), *_shortened(self.gaps), *self._certification()]
        )

    def _certification(self) -> list[str]:
        """How many of the changed nodes are certified, and the first that are not."""
        if self.certificates is None:
            return ["no certificates of changed nodes recorded"]
        total = sum(row.nodes for row in self.certificates)
        if not total:
            return ["no operator changed"]
        certified = sum(row.nodes for row in self.certificates if row.is_certified)
        if certified == total:
            words = f"all {counting.plural(total, 'changed node')}"
            rounded = sum(row.nodes for row in self.certificates if not row.exact)
            up_to = f", {'all' if rounded == total else rounded} up to rounding" if rounded else ""
            if total == 1:
                return [f"its one changed node certified{up_to and ' up to rounding'}"]
            return [f"{words} certified{up_to}"]
        rows = [row.sentence for row in self.certificates if row.is_gap]
        return [
            f"{certified} of {total} changed {counting.noun(total, 'node')} certified",
            *_shortened(rows),
        ]

    def _inputs(self) -> str:
        counts = {
            "bundled": self.bundled,
            "declared": self.declared,
            "generated": self.generated,
        }
        words = phrases.conjunction([f"{count} {word}" for word, count in counts.items() if count])
        total = sum(counts.values())
        return f"{words or 'no'} {counting.noun(total, 'input')}"

    def _coverage(self) -> str:
        if self.nodes is None or self.ran is None:
            return "nodes that ran not recorded"
        if self.ran >= self.nodes:
            return f"all {self.nodes} nodes ran" if self.nodes != 1 else "its one node ran"
        return f"{self.ran} of {self.nodes} {counting.noun(self.nodes, 'node')} ran"

    def _difference(self) -> str:
        if not self.worst:
            return "no difference"
        if self.tolerance:
            return f"worst difference {_figure(self.worst)} within {self.tolerance}"
        noise = "rounding" if not self.noise else f"noise {_figure(self.noise)}"
        return f"worst difference {_figure(self.worst)} of {noise}"

    def to_json(self) -> dict[str, Any]:
        """Give what `from_json` reads."""
        return asdict(self) | {
            "outputs": _written(self.outputs),
            "branches": _written(self.branches),
            "certificates": None if self.certificates is None else _written(self.certificates),
            "judges": list(self.judges),
        }

    @classmethod
    def from_json(cls, data: Any) -> Proof:
        """Read a proof from a report or a row. Raises InvalidProofError."""
        try:
            return _READER.read(cls, _ABSENT | strict.check(data, dict, "proof"))
        except strict.UnreadableError as error:
            raise InvalidProofError(str(error)) from error


_Row = TypeVar("_Row", Output, Branch, NodeCertificate)


def _written(rows: Sequence[_Row]) -> list[dict[str, Any]]:
    """The rows as JSON; if there are too many, those that leave something open come first."""
    most = rows if len(rows) <= _MOST_ROWS else sorted(rows, key=lambda row: not row.is_gap)
    return [asdict(row) for row in most[:_MOST_ROWS]]


def _shortened(sentences: Sequence[str]) -> list[str]:
    rest = len(sentences) - _EXAMPLES
    return [*sentences[:_EXAMPLES], *([f"and {rest} more"] if rest > 0 else [])]


def _limited(_: Any, rows: list[Any], place: str) -> list[Any]:
    if len(rows) > _MOST_ROWS:
        raise strict.UnreadableError(f"{place} has more than {_MOST_ROWS} rows")
    return rows


# What a proof of an earlier version lacks.
_ABSENT = {"bundled": 0, "declared": 0, "generated": 0, "method": 0, "tolerance": ""}
_SIGNED = strict.Reader(is_complete=True)
_UNSIGNED = strict.Reader(
    {
        str: lambda value, place: strict.check(value, str, place)[:_WORD_CHARACTERS],
        int: strict.count,
    },
    limit=_limited,
    is_complete=True,
)


def read_ranges(value: Any, place: str) -> InputRanges:
    read = _SIGNED.read(InputRanges, value, place)
    for least, greatest in (
        (read.smallest_side, read.largest_side),
        (read.smallest, read.largest),
        (read.least_integer, read.greatest_integer),
    ):
        if least is not None and (greatest is None or least > greatest):
            raise strict.UnreadableError(f"{place} has a smallest value above the largest")
    for bound in (read.smallest_side, read.smallest, read.largest):
        if bound is not None and bound < 0:
            raise strict.UnreadableError(f"{place} has a size or magnitude below 0")
    return read


def _certificate(value: Any, place: str) -> NodeCertificate:
    read = _UNSIGNED.read(NodeCertificate, value, place)
    if (read.outcome == SearchOutcome.NO_KEY) != (not read.key):
        raise strict.UnreadableError(f"{place}.key is empty with no-key alone")
    if read.key and not _SHA256.fullmatch(read.key):
        raise strict.UnreadableError(f"{place}.key is no SHA-256")
    if not read.nodes:
        raise strict.UnreadableError(f"{place}.nodes is 0")
    return read


_READER = strict.Reader(
    {**_UNSIGNED.readers, InputRanges: read_ranges, NodeCertificate: _certificate},
    limit=_limited,
    is_complete=True,
)


def _figure(value: float) -> str:
    return f"{value:.2g}"
