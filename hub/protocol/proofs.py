"""How far an upgraded model was shown to equal its original: a strength, and the evidence for it.

A proof says on how many inputs both were compared, which nodes and branches ran, how far apart the
outputs were beside the original's own noise, and which runtimes judged. It is read once, where a
worker's report or a stored row enters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

from hub import counting
from hub.protocol import strict

METHOD = 2
_MOST_ROWS = 200
_WORD_CHARACTERS = 300
_EXAMPLES = 3

Strength = Literal["full", "schema", "partial", "earlier-method"]
State = Literal["compared", "independent", "constant", "not-finite", "empty"]

FULL: Strength = "full"
SCHEMA: Strength = "schema"
PARTIAL: Strength = "partial"
EARLIER: Strength = "earlier-method"
STRENGTHS: tuple[str, ...] = get_args(Strength)
# With one of these, a variant stands in for the original wherever an opset is asked for.
SUFFICIENT: frozenset[str] = frozenset({FULL, SCHEMA})
BY_SCHEMA = "schema-registry"

WORDS = {
    FULL: "equal",
    SCHEMA: "no operator changed",
    PARTIAL: "partly compared",
    EARLIER: "recorded by an older method",
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
class Proof:
    """The evidence that a model and its upgrade give the same outputs.

    `nodes` counts the nodes of all graphs of the model (functions not inlined count once for each
    call), `ran` those that ran on some input; None where not recorded. `tolerance` is set where the
    original's own noise could not be measured, since the runtime does not run it. `inner` counts
    the values inside both models that were compared too, None where they were not.
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
    method: int = METHOD

    @property
    def strength(self) -> Strength:
        """How much the evidence is worth; see `SUFFICIENT`."""
        if self.judges == (BY_SCHEMA,):
            return SCHEMA
        gaps = self._open()
        if self.ran is None or not all(gap.unchanged for gap in gaps):
            return PARTIAL
        return SCHEMA if gaps else FULL

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

    def _open(self) -> list[Output | Branch | HiddenDifference]:
        every: list[Output | Branch | HiddenDifference] = [*self.outputs, *self.branches]
        if self.hidden is not None:
            every.append(self.hidden)
        return [row for row in every if row.is_gap]

    @property
    def brief(self) -> str:
        """The strength in a few words, such as "equal on 3 bundled and 16 generated inputs"."""
        if self.judges == (BY_SCHEMA,):
            return "not run: no operator changed"
        verb = "equal" if self.strength != PARTIAL else "equal where compared,"
        return f"{verb} on {self._inputs()}"

    @property
    def sentence(self) -> str:
        """The proof as a sentence, such as "equal on 3 bundled and 16 generated inputs, ..."."""
        if self.judges == (BY_SCHEMA,):
            return self.brief
        parts = [self.brief, self._coverage(), self._difference()]
        parts.append(
            f"judged by {_conjunction([_JUDGES.get(judge, judge) for judge in self.judges])}"
        )
        gaps = list(self.gaps[:_EXAMPLES])
        if len(self.gaps) > _EXAMPLES:
            gaps.append(f"and {len(self.gaps) - _EXAMPLES} more")
        return "; ".join([", ".join(filter(None, parts)), *gaps])

    def _inputs(self) -> str:
        counts = {
            "bundled": self.bundled,
            "declared": self.declared,
            "generated": self.generated,
        }
        words = _conjunction([f"{count} {word}" for word, count in counts.items() if count])
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
            "outputs": [asdict(output) for output in self.outputs[:_MOST_ROWS]],
            "branches": [asdict(branch) for branch in self.branches[:_MOST_ROWS]],
            "judges": list(self.judges),
        }

    @classmethod
    def from_json(cls, data: Any) -> Proof:
        """Read a proof from a report or a row. Raises InvalidProofError."""
        try:
            return _READER.read(cls, _ABSENT | strict.check(data, dict, "proof"))
        except strict.UnreadableError as error:
            raise InvalidProofError(str(error)) from error


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
    },
    limit=_limited,
    is_complete=True,
)


def _figure(value: float) -> str:
    return f"{value:.2g}"


def _conjunction(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
