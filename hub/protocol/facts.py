"""The facts of a model file, as the engine reports them and the hub stores them, read once.

They crossed a process that had opened an upload, and older releases of the hub stored
others: what is absent or has another shape is empty here, never guessed and never an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hub.protocol import stored

DEFAULT_DOMAIN: Final = "ai.onnx"
# How many of anything are taken; the engine lists no more of anything.
MOST_LISTED: Final = 1000
MOST_DEPTH: Final = 16


@dataclass(frozen=True, slots=True)
class Type:
    """A type of ONNX: `kind` is tensor, sparse_tensor, sequence, optional, map or opaque.

    A size is a number, a symbol, or None where not stated; a shape of unknown rank is None.
    `element` is what a sequence or optional holds, and what a map maps `key` to.
    """

    kind: str = ""
    dtype: str = ""
    shape: tuple[int | str | None, ...] | None = None
    key: str = ""
    element: Type | None = None

    @property
    def tensor_dtype(self) -> str:
        """The type of a tensor's numbers; empty for other types."""
        return self.dtype if self.kind == "tensor" else ""

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The shape with None for dynamic sizes; None for one of unknown rank.

        Some exporters write a free size as -1.
        """
        if self.shape is None:
            return None
        return tuple(size if isinstance(size, int) and size >= 0 else None for size in self.shape)

    def __str__(self) -> str:
        """float32 for a tensor, sequence of map of int64 to float32 for what holds others."""
        dtype = self.dtype or "unknown"
        match self.kind:
            case "tensor":
                return dtype
            case "sparse_tensor":
                return f"sparse {dtype}"
            case "map" if self.element:
                return f"map of {self.key or 'unknown'} to {self.element}"
            case kind if self.element:
                return f"{kind} of {self.element}"
            case kind:
                return kind or "unknown"


def is_cache(name: str, sizes: tuple[int | None, ...] | None) -> bool:
    """Whether an input holds keys or values of earlier tokens, which are none before the first.

    Exporters name it `past…`; of ``[batch, heads, length, size]`` its length alone is free.
    """
    return (
        name.startswith("past")
        and sizes is not None
        and len(sizes) == 4
        and sizes[1:].count(None) == 1
    )


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; `denotation` is ONNX's TypeDenotation, such as IMAGE."""

    name: str
    type: Type
    denotation: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that a graph uses, and in how many nodes."""

    domain: str
    name: str
    count: int

    @property
    def is_standard(self) -> bool:
        """Whether ONNX defines it, apart from ONNX-ML."""
        return self.domain in ("", DEFAULT_DOMAIN)

    @property
    def title(self) -> str:
        """The name alone where ONNX defines the operator, else after its domain."""
        return self.name if self.is_standard else f"{self.domain}.{self.name}"


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """A file of weights: how many tensors and bytes of it are used, and from where to where."""

    path: str
    tensors: int
    bytes: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class WeightType:
    """The weights of one type."""

    dtype: str
    count: int
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The initializers of a graph."""

    by_type: tuple[WeightType, ...]
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Producer:
    """The tool that wrote a file, as the file says."""

    name: str = ""
    version: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version)))


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one walk over a model file; `opsets` is None where not reported."""

    method: int = 1
    ir_version: int | None = None
    opset: int | None = None
    opsets: Mapping[str, int] | None = None
    producer: Producer = Producer()
    model_version: int = 0
    domain: str = ""
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    graph_name: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    nodes: int | None = None
    operators: tuple[Operator, ...] = ()
    barcode: tuple[str, ...] = ()
    functions: frozenset[tuple[str, str]] = frozenset()
    weights: Weights | None = None
    external_files: tuple[ExternalFile, ...] = ()
    parameters: int | None = None
    precision: str = ""
    # Bytes of weights by type, and the ways in which they are quantised.
    stored_bytes: Mapping[str, int] = field(default_factory=dict)
    quantisation: tuple[str, ...] = ()

    @classmethod
    def read(cls, value: object) -> Facts:
        """Read the report of a description; malformed parts are left out."""
        row = stored.mapping(value)
        profile = stored.mapping(row.get("precision_profile"))
        return cls(
            method=stored.whole(row.get("method")) or 1,
            ir_version=stored.whole(row.get("ir_version")),
            opset=stored.whole(row.get("opset")),
            opsets=_numbers(row["opsets"]) if isinstance(row.get("opsets"), dict) else None,
            producer=_producer(row.get("producer")),
            model_version=stored.count(row.get("model_version")),
            domain=stored.text(row.get("domain")),
            doc=stored.text(row.get("doc")),
            metadata={
                key: value for key, value in _items(row.get("metadata")) if isinstance(value, str)
            },
            graph_name=stored.text(stored.mapping(row.get("graph")).get("name")),
            inputs=read_ports(row.get("inputs")),
            outputs=read_ports(row.get("outputs")),
            nodes=stored.whole(stored.mapping(row.get("nodes")).get("total")),
            operators=tuple(
                Operator(
                    stored.text(operator.get("domain")), name, stored.count(operator.get("count"))
                )
                for operator in stored.rows(row.get("operators"))[:MOST_LISTED]
                if (name := stored.text(operator.get("name")))
            ),
            barcode=read_barcode(row.get("barcode")),
            functions=frozenset(
                (stored.text(function.get("domain")), stored.text(function.get("name")))
                for function in stored.rows(row.get("functions"))[:MOST_LISTED]
            ),
            weights=_weights(row.get("initializers")),
            external_files=tuple(
                ExternalFile(path, *_counts(file, "tensors", "bytes", "first", "end"))
                for file in stored.rows(row.get("external_files"))
                if (path := stored.text(file.get("path")))
            ),
            parameters=stored.whole(row.get("parameters")),
            precision=stored.text(row.get("precision")),
            stored_bytes=_numbers(profile.get("bytes_by_dtype")),
            quantisation=tuple(map(str, _list(profile.get("forms")))),
        )

    @property
    def properties(self) -> dict[str, str]:
        """The metadata by names in lower case: ONNX compares them without case."""
        return {name.lower(): value for name, value in self.metadata.items()}


def read_ports(value: object) -> tuple[Port, ...]:
    """The inputs or outputs of a described graph."""
    return tuple(
        Port(
            stored.text(row.get("name")), _type(row, MOST_DEPTH), stored.text(row.get("denotation"))
        )
        for row in stored.rows(value)[:MOST_LISTED]
    )


def read_barcode(value: object) -> tuple[str, ...]:
    """The families of a graph's operators in order, from the engine's compressed form."""
    row = stored.mapping(value)
    names = _list(row.get("categories"))
    return tuple(
        str(names[cell])
        for cell in _list(row.get("cells"))
        if isinstance(cell, int) and 0 <= cell < len(names)
    )


def _type(row: Mapping[str, Any], depth: int) -> Type:
    kind, shape = stored.text(row.get("type")), row.get("shape")
    element = row.get("value" if kind == "map" else "element")
    return Type(
        kind,
        stored.text(row.get("dtype")),
        tuple(size if isinstance(size, int) else stored.text(size) or None for size in _list(shape))
        if isinstance(shape, list)
        else None,
        stored.text(row.get("key")),
        _type(element, depth - 1) if isinstance(element, dict) and depth else None,
    )


def _producer(value: object) -> Producer:
    if isinstance(value, str):
        return Producer(value)
    row = stored.mapping(value)
    return Producer(stored.text(row.get("name")), stored.text(row.get("version")))


def _weights(value: object) -> Weights | None:
    if not isinstance(value, dict):
        return None
    return Weights(
        tuple(
            WeightType(str(name), *_counts(row, "count", "elements", "bytes"))
            for name, row in _items(value.get("by_dtype"))
            if isinstance(row, dict)
        ),
        *_counts(value, "count", "bytes"),
    )


def _counts(row: Mapping[str, Any], *names: str) -> list[int]:
    return [stored.count(row.get(name)) for name in names]


def _items(value: object) -> Iterator[tuple[str, Any]]:
    return itertools.islice(stored.mapping(value).items(), MOST_LISTED)


def _list(value: object) -> list[Any]:
    return value[:MOST_LISTED] if isinstance(value, list) else []


def _numbers(value: object) -> dict[str, int]:
    return {
        name: number for name, item in _items(value) if (number := stored.whole(item)) is not None
    }
