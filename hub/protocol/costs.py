"""What a graph costs to run, as the engine counts it: functions of the graph's free dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hub.protocol import stored

Holds = Literal["everywhere", "multiples", "nearly"]
_HOLDS: tuple[Holds, ...] = ("everywhere", "multiples", "nearly")
# How the operations of a node were counted, the surest first: as they are; as a bound, since data
# select a branch or end a loop; or once, since data tell how often a body runs.
Exactness = Literal["exact", "at-most", "per-iteration"]
EXACTNESS: tuple[Exactness, ...] = ("exact", "at-most", "per-iteration")
MOST_TERMS = 100
# The greatest sum of powers in one term. With `LARGEST_FACTOR` and `LARGEST_SIZE` every sum of
# terms is a finite number.
MOST_POWER = 6
LARGEST_FACTOR = 1e100
MOST_NODES = 20_000
LARGEST_SIZE = 1 << 30
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# What a dimension is by its name, and the size for which costs are shown first.
_USUAL_SIZES = (
    (re.compile(r"batch|^[bn]$", re.IGNORECASE), 1),
    (re.compile(r"past|cache", re.IGNORECASE), 0),
    (re.compile(r"samples|audio|wave", re.IGNORECASE), 16_000),
    (re.compile(r"seq|len|token|time|step|frame|^[st]$", re.IGNORECASE), 128),
    (re.compile(r"height|width|^[hw]_?$", re.IGNORECASE), 224),
)


@dataclass(frozen=True, slots=True)
class Term:
    """A factor times powers of dimensions."""

    factor: float
    powers: Mapping[str, int]

    def at(self, sizes: Mapping[str, int]) -> float:
        product: int = math.prod(sizes[name] ** power for name, power in self.powers.items())
        return self.factor * product

    def __str__(self) -> str:
        symbols = [
            name + (str(power).translate(_SUPERSCRIPTS) if power > 1 else "")
            for name, power in self.powers.items()
        ]
        return " · ".join([f"{self.factor:,.10g}", *symbols])


@dataclass(frozen=True, slots=True)
class Function:
    """A sum of terms, none of which is zero, plus the greatest alternative of each choice.

    Alternatives are branches of which data select one; they have no choices of their own.
    """

    terms: tuple[Term, ...] = ()
    choices: tuple[tuple[Function, ...], ...] = ()

    @classmethod
    def read(cls, value: object, symbols: frozenset[str]) -> Function | None:
        """Read [[factor, {symbol: power}], …, {"max": [terms, …]}, …].

        None for anything else, infinity and NaN too.
        """
        if not isinstance(value, list) or len(value) > MOST_TERMS:
            return None
        choices = []
        for choice in (item for item in value if isinstance(item, dict)):
            rows = choice.get("max")
            if not isinstance(rows, list) or not 0 < len(rows) <= MOST_TERMS:
                return None
            choices.append([_terms(row, symbols) for row in rows])
        terms = _terms([item for item in value if not isinstance(item, dict)], symbols)
        if terms is None or any(None in choice for choice in choices):
            return None
        return cls(
            terms,
            tuple(tuple(cls(part) for part in choice if part is not None) for choice in choices),
        )

    def at(self, sizes: Mapping[str, int]) -> int:
        """The value for these sizes, rounded to a whole number.

        It is negative where the graph has no run of these sizes, such as an input shorter than a
        kernel.
        """
        dearest = (max(each.at(sizes) for each in choice) for choice in self.choices)
        return round(sum(term.at(sizes) for term in self.terms)) + sum(dearest)

    @property
    def length(self) -> int:
        """The number of terms, those of alternatives included."""
        return len(self.terms) + sum(each.length for choice in self.choices for each in choice)

    def __str__(self) -> str:
        choices = (f"max({', '.join(map(str, choice))})" for choice in self.choices)
        return " + ".join([*map(str, self.terms), *choices]) or "0"


def _terms(value: object, symbols: frozenset[str]) -> tuple[Term, ...] | None:
    """Read [[factor, {symbol: power}], …]; None for anything else."""
    if not isinstance(value, list) or len(value) > MOST_TERMS:
        return None
    terms = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        factor, powers = stored.finite(pair[0]), pair[1]
        if factor is None or abs(factor) > LARGEST_FACTOR or not isinstance(powers, dict):
            return None
        if not all(
            name in symbols and stored.whole(power) is not None and power > 0
            for name, power in powers.items()
        ):
            return None
        if sum(powers.values()) > MOST_POWER:
            return None
        terms.append(Term(factor, powers))
    return tuple(terms)


@dataclass(frozen=True, slots=True)
class Node:
    """One node in order of execution; `macs` or `bytes` is None where it is unknown."""

    operator: str
    name: str
    macs: Function | None
    bytes: Function | None
    parameters: int = 0
    exactness: Exactness = "exact"


@dataclass(frozen=True, slots=True)
class Costs:
    """Multiply-accumulate operations (MACs), bytes that nodes read and write, and memory.

    `peaks` are the moments of a run that may need the most activations: their maximum is what the
    run needs. `unknown` counts nodes, by operator, whose MACs are not in the sum, `at_most` those
    whose MACs are a bound, and `per_iteration` loops that count once, since data tell how often
    they run; `fixed` are free dimensions beyond those that were followed.
    """

    symbols: tuple[str, ...] = ()
    fixed: Mapping[str, int] = field(default_factory=dict)
    holds: Holds = "nearly"
    lattice: int = 1
    macs: Function = Function()
    bytes: Function = Function()
    bytes_unknown: int = 0
    peaks: tuple[Function, ...] = ()
    peak_is_whole: bool = False
    weights: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    per_iteration: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    nodes: tuple[Node, ...] = ()

    @classmethod
    def read(cls, value: object) -> Costs | None:
        """Read what the engine wrote; None where it wrote none."""
        row = stored.mapping(value)
        symbols = tuple(symbol for symbol in _list(row.get("symbols")) if isinstance(symbol, str))
        free = frozenset(symbols)
        macs, traffic = (Function.read(row.get(key), free) for key in ("macs", "bytes"))
        if macs is None or traffic is None:
            return None
        peaks = [Function.read(peak, free) for peak in _list(row.get("peaks"))]
        return cls(
            symbols=symbols,
            fixed={
                name: size
                for name, size in stored.mapping(row.get("fixed")).items()
                if stored.whole(size) is not None
            },
            holds=next((value for value in _HOLDS if value == row.get("holds")), "nearly"),
            lattice=stored.count(row.get("lattice")) or 1,
            macs=macs,
            bytes=traffic,
            bytes_unknown=stored.count(row.get("bytes_unknown")),
            # Without one of them, the memory of a run would be too small.
            peaks=() if None in peaks else tuple(peak for peak in peaks if peak is not None),
            peak_is_whole=row.get("peak_is_whole") is True,
            weights=stored.count(row.get("weights")),
            unknown=_operators(row.get("unknown")),
            at_most=_operators(row.get("at_most")),
            per_iteration=_operators(row.get("per_iteration")),
            total=stored.count(row.get("total")),
            nodes=tuple(_node(node, free) for node in stored.rows(row.get("nodes"))[:MOST_NODES]),
        )

    @property
    def is_exact(self) -> bool:
        """Whether `macs` has every node, and none of them as a bound."""
        return not (self.unknown or self.at_most or self.per_iteration)

    @property
    def usual_sizes(self) -> dict[str, int]:
        """The size of each symbol for which costs are shown where nobody asks for others."""
        return {
            name: next((size for pattern, size in _USUAL_SIZES if pattern.search(name)), 1)
            for name in self.symbols
        }

    def sizes(self, texts: Mapping[str, str]) -> dict[str, int]:
        """The usual sizes with those that are asked for, as texts; raises ValueError."""
        sizes = self.usual_sizes
        for name, text in texts.items():
            if name not in sizes:
                names = ", ".join(self.symbols) or "none"
                raise ValueError(f"{name!r} is no free dimension of this model ({names}).")
            if not text.isascii() or not text.isdigit() or len(text) > 10:
                raise ValueError(f"The size of {name} must be a whole number.")
            if int(text) > LARGEST_SIZE:
                raise ValueError(f"The size of {name} must be at most {LARGEST_SIZE:,}.")
            sizes[name] = int(text)
        return sizes

    def runs_at(self, sizes: Mapping[str, int]) -> bool:
        """Whether the graph can run with these sizes: no figure is negative."""
        nodes = (each for node in self.nodes for each in (node.macs, node.bytes) if each)
        return all(each.at(sizes) >= 0 for each in (self.macs, self.bytes, *self.peaks, *nodes))

    def activations(self, sizes: Mapping[str, int]) -> int | None:
        """Bytes of activations that a run needs at once; None where no moment is known."""
        return max((peak.at(sizes) for peak in self.peaks), default=None)

    def memory(self, sizes: Mapping[str, int]) -> int | None:
        """Bytes of weights and activations; None where the activations are not known."""
        activations = self.activations(sizes)
        return None if activations is None else self.weights + activations

    def largest(self, symbol: str, sizes: Mapping[str, int], memory: int) -> int | None:
        """The largest size of a symbol that fits in so many bytes; None where none does."""
        low, high = 0, LARGEST_SIZE
        while low < high:
            middle = (low + high + 1) // 2
            needed = self.memory({**sizes, symbol: middle})
            if needed is not None and needed <= memory:
                low = middle
            else:
                high = middle - 1
        return low if low > 0 else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _operators(value: object) -> dict[str, int]:
    """The number of nodes by operator."""
    return {
        stored.text(row.get("op")): stored.count(row.get("count")) for row in stored.rows(value)
    }


def _node(row: Mapping[str, Any], symbols: frozenset[str]) -> Node:
    return Node(
        operator=stored.text(row.get("op")),
        name=stored.text(row.get("name")),
        macs=Function.read(row.get("macs"), symbols),
        bytes=Function.read(row.get("bytes"), symbols),
        parameters=stored.count(row.get("parameters")),
        exactness=next((word for word in EXACTNESS if word == row.get("exactness")), "exact"),
    )
