"""How far an upgraded model was shown to equal its original: a strength, and the evidence for it.

A proof says on how many inputs both were compared and what these covered, which nodes and branches
ran, how far apart the outputs were beside the original's own noise, which runtimes judged, and how
the conversion of each changed node was searched apart from the model. It is read once, where a
worker's report or a stored row enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar

from hub import counting
from hub.protocol import phrases, strict
from hub.protocol.input_ranges import InputRanges
from hub.protocol.node_certificates import NodeCertificate

METHOD = 3
_MOST_ROWS = 200
_WORD_CHARACTERS = 300
_EXAMPLES = 3

State = Literal["compared", "independent", "constant", "not-finite", "empty"]


class Strength(StrEnum):
    """How far an upgraded model was shown to equal its original; `WORDS` says what each is."""

    CERTIFIED = "certified"
    SAMPLED = "sampled"
    SCHEMA = "schema"
    PARTIAL = "partial"
    EARLIER_METHOD = "earlier-method"


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
        "equal on every input that ran, and the conversion of each changed node is certified "
        "bit by bit for the sizes and values that the model declares or its runs used"
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
        nodes that did run. A node that is certified up to rounding makes no proof `certified`: the
        model may magnify that rounding on inputs that did not run.
        """
        if self.judges == (BY_SCHEMA,):
            return Strength.SCHEMA
        if self.ran is None or not all(gap.unchanged for gap in self._open()):
            return Strength.PARTIAL
        if self.certificates is None:
            return Strength.SAMPLED
        if not self.certificates:
            return Strength.SCHEMA
        is_certified = all(row.is_certified and row.exact for row in self.certificates)
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
_READER = strict.Reader(
    {
        str: lambda value, place: strict.check(value, str, place)[:_WORD_CHARACTERS],
        int: strict.count,
        InputRanges: InputRanges.from_json,
        NodeCertificate: NodeCertificate.from_json,
    },
    limit=_limited,
    is_complete=True,
)


def _figure(value: float) -> str:
    return f"{value:.2g}"
