"""Certificates: what a search of the conversion of a node tried, and what it noticed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from hub.protocol import strict
from hub.protocol.node_certificates import SearchOutcome
from runners.engine.certificates.domains import ValueKind

# A size that ran with fewer values was not searched, unless both forms refused many others.
LEAST_SIZES = 3
EMPTY, FEW_SIZES = "empty inputs", "few sizes"
# Certificates that come with the hub; `benchmarks/opset_upgrade.py --certificates` writes them.
SHIPPED = Path(__file__).with_name("certificates.jsonl.gz")


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Inputs on which original and converted node differ; `inputs` has their values if few.

    They can be drawn again from `sizes` (of each size class), `values` and `seed`.
    """

    sizes: dict[str, int]
    values: ValueKind
    seed: int
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of a search for one key.

    `runs` counts inputs on which both models ran, `refused` those that both refused. `sizes` has
    the sizes that ran of each size class, such as "0-40 47 53", and `kinds` the kinds of values.
    `limits` says how the nodes differ on extreme values, by their kind, and on empty inputs, and
    of which sizes too few were tried; `largest` is the absolute value up to which that leaves the
    inputs, None without such a limit and 0 where integers may be what the nodes differ on.
    `answers` says why the original refuses inputs that the converted node takes. `is_exact`: all
    outputs were equal bit by bit, and not up to rounding; `is_complete`: nothing was left out for
    want of time. `runtime` ran both forms if it is not ONNX Runtime.
    """

    key: str
    op: str
    source: int
    target: int
    outcome: SearchOutcome
    reason: str = ""
    runs: int = 0
    refused: int = 0
    sizes: dict[str, str] = field(default_factory=dict)
    kinds: tuple[ValueKind, ...] = ()
    limits: dict[str, str] = field(default_factory=dict)
    largest: float | None = None
    answers: str = ""
    is_exact: bool = False
    is_complete: bool = False
    counterexample: Counterexample | None = None
    runtime: str = ""

    def uncovered(self, sizes: Iterable[dict[int, int]], largest: float | None) -> str:
        """What a model needs beyond the domain of this certificate; empty if nothing.

        `sizes` are those that the model fixes, by size class, for each of its nodes of this key;
        `largest` is the greatest absolute value inside the model, None where it is not measured.
        """
        every = list(sizes)
        if EMPTY in self.limits and any(0 in fixed.values() for fixed in every):
            return "not for empty inputs"
        if FEW_SIZES in self.limits:
            for place, words in self.sizes.items():
                ran = numbers(words)
                if len(ran) < LEAST_SIZES and not ran.issuperset(
                    fixed.get(int(place), -1) for fixed in every
                ):
                    return self.limits[FEW_SIZES]
        if self.largest == 0:
            return "not for the whole range of integers"
        if self.largest is not None and (largest is None or largest > self.largest):
            return f"only for values up to {self.largest:.0e}"
        return ""

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads, without what is empty."""
        row = asdict(self) | {"kinds": list(self.kinds)}
        return {
            name: value for name, value in row.items() if value not in ("", None, {}, [], False)
        }

    @classmethod
    def from_json(cls, data: Any) -> Certificate:
        """Read a stored certificate, or the answer of a child. Raises strict.UnreadableError."""
        return _READER.read(cls, data)


_READER = strict.Reader({str: lambda value, place: strict.check(value, str, place)[:300]})


def write(path: Path, certificates: Iterable[Certificate]) -> None:
    """Write certificates in the order of their keys, a line each, the same bytes for the same."""
    rows = sorted((row.to_json() for row in certificates), key=lambda row: str(row["key"]))
    lines = "".join(f"{json.dumps(row, sort_keys=True)}\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def shipped(key: str) -> Certificate | None:
    """The certificate of a key that comes with the hub; None without one."""
    row = _rows().get(key)
    return None if row is None else Certificate.from_json(row)


@cache
def _rows() -> dict[str, Any]:
    # Read as certificates one by one, since a model needs a few of more than a thousand.
    lines = gzip.decompress(SHIPPED.read_bytes()).splitlines()
    return {row["key"]: row for row in map(json.loads, lines)}


def ranges(sizes: Iterable[int]) -> str:
    """Whole numbers as text, such as "0-40 47 53"."""
    ordered = sorted(set(sizes))
    # Numbers that follow each other have the same distance from their places.
    runs = groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])
    lists = ([number for _, number in run] for _, run in runs)
    return " ".join(f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in lists)


def numbers(words: str) -> set[int]:
    """The whole numbers that `ranges` wrote."""
    ends = (word.partition("-") for word in words.split())
    return {
        number for first, _, last in ends for number in range(int(first), int(last or first) + 1)
    }
