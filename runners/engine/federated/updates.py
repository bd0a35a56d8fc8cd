"""Contributions and weights as numbers: each part of the layout, in runs of float64 values.

A run is at most ``RUN`` values long and begins at a multiple of it, so that a whole round of
contributions passes through the caches run by run and nothing of a file's size is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hub.protocol import federated, safetensors
from hub.protocol.federated import Part
from hub.protocol.safetensors import Header
from runners.engine.federated.mapping import Buffer

RUN = 4 * federated.BLOCK
_TYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1", "U32": "<u4"}

Array = np.ndarray[Any, Any]


def header_of(buffer: Buffer) -> Header:
    """Read the header of a mapped file; raises safetensors.MalformedError."""
    view = memoryview(buffer).cast("B")
    length = safetensors.header_bytes(bytes(view[:8]), len(view))
    return safetensors.parse(bytes(view[8 : 8 + length]), len(view))


class Weights:
    """A mapped safetensors file, whose tensors are looked up by name."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.header = header_of(buffer)
        self._by_name = self.header.by_name()

    def values(self, name: str) -> Array:
        """The values of a tensor, flat; only the types that devices send."""
        tensor = self._by_name[name]
        kind, place = _TYPES[tensor.dtype], self.header.data_start + tensor.start
        if not tensor.elements:
            return np.empty(0, kind)
        array = np.frombuffer(self.buffer, kind, tensor.elements, place)
        array.flags.writeable = False
        return array

    def raw(self, name: str) -> memoryview:
        """The bytes of a tensor of any type."""
        tensor, start = self._by_name[name], self.header.data_start
        return memoryview(self.buffer).cast("B")[start + tensor.start : start + tensor.end]


class Dense:
    """A part that travelled value by value."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def run(self, first: int, end: int, into: Array) -> Array:
        """Give the values [first, end) as float64, in the front of ``into``."""
        out = into[: end - first]
        np.copyto(out, self._values[first:end])
        return out

    def add(self, first: int, end: int, factor: float, total: Array, spare: Array) -> None:
        """Add ``factor`` times the values [first, end) to ``total``."""
        out = spare[: end - first]
        np.multiply(self._values[first:end], factor, out=out, dtype=np.float64)
        total += out


class Blocks(Dense):
    """A part in int8 with one scale for each block."""

    def __init__(self, values: Array, scales: Array) -> None:
        super().__init__(values)
        self._scales = scales

    def run(self, first: int, end: int, into: Array) -> Array:
        out = super().run(first, end, into)
        whole = self._scales[first // federated.BLOCK : -(-end // federated.BLOCK)]
        out *= np.repeat(whole.astype(np.float64), federated.BLOCK)[: end - first]
        return out

    def add(self, first: int, end: int, factor: float, total: Array, spare: Array) -> None:
        out = self.run(first, end, spare)
        out *= factor
        total += out


class Sparse:
    """A part of which only the largest values travelled."""

    def __init__(self, index: Array, values: Array, elements: int) -> None:
        self._index, self._values = index, values
        # Where each block begins, looked up at once: a search of its own for each run would read
        # the whole index every time, since files do not align it.
        edges = np.append(np.arange(0, elements, federated.BLOCK), elements)
        self._edges = np.searchsorted(index, edges)

    def run(self, first: int, end: int, into: Array) -> Array:
        out = into[: end - first]
        out[:] = 0.0
        places, values = self._within(first, end)
        out[places] = values
        return out

    def add(self, first: int, end: int, factor: float, total: Array, spare: Array) -> None:
        places, values = self._within(first, end)
        total[places] += values.astype(np.float64) * factor

    def _within(self, first: int, end: int) -> tuple[Array, Array]:
        low = self._edges[first // federated.BLOCK]
        high = self._edges[-(-end // federated.BLOCK)]
        return self._index[low:high].astype(np.int64) - first, self._values[low:high]


def part_of(weights: Weights, part: Part, encoding: str) -> Dense | Sparse:
    """Read how a part travelled; the header must be as `federated.expect` wants it."""
    if part.role == federated.STATISTIC or encoding in {federated.FULL, federated.DELTA}:
        return Dense(weights.values(part.name))
    if encoding == federated.DELTA_INT8:
        return Blocks(weights.values(part.name), weights.values(part.name + federated.SCALE))
    if encoding == federated.DELTA_TOPK:
        return Sparse(
            weights.values(part.name + federated.INDEX),
            weights.values(part.name + federated.VALUE),
            part.elements,
        )
    return Dense(weights.values(part.name))


@dataclass(frozen=True, slots=True)
class Update:
    """One contribution: its file, its encoding, and the weights that it started from."""

    weights: Weights
    encoding: str
    base: Weights

    @property
    def is_full(self) -> bool:
        """Whether it holds weights and not their change."""
        return self.encoding == federated.FULL

    def difference(self, part: Part) -> Difference:
        """What a device changed of a part."""
        base = Dense(self.base.values(part.name)) if self.is_full else None
        return Difference(part_of(self.weights, part, self.encoding), base)


@dataclass(frozen=True, slots=True)
class Difference:
    """What a device changed of one part, to be had in runs."""

    values: Dense | Sparse
    base: Dense | None

    def run(self, first: int, end: int, into: Array, spare: Array) -> Array:
        out = self.values.run(first, end, into)
        if self.base is not None:
            out -= self.base.run(first, end, spare)
        return out


def runs(part: Part) -> Iterator[tuple[int, int]]:
    """Cut a part into runs."""
    for first in range(0, part.elements, RUN):
        yield first, min(first + RUN, part.elements)


def rows(part: Part, changes: Sequence[Update], width: int) -> Iterator[tuple[int, int, Array]]:
    """Give what all devices changed of a part in runs of a width: first, end, a row for each.

    The rows of the last run are a view of the same matrix as those before.
    """
    differences = [change.difference(part) for change in changes]
    matrix, spare = np.empty((len(changes), width)), np.empty(width)
    for first in range(0, part.elements, width):
        end = min(first + width, part.elements)
        for place, difference in enumerate(differences):
            difference.run(first, end, matrix[place], spare)
        yield first, end, matrix[:, : end - first]


def buffers(count: int) -> list[Array]:
    """``count`` arrays, each for one run."""
    return [np.empty(RUN) for _ in range(count)]
