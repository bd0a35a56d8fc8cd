"""Sizes of the free dimensions of inputs: one assignment for all inputs of a model."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol.inputs import DeclaredInput
from runners.engine.onnx_files.datasets import required_inputs
from runners.engine.runs.usage import Use

if TYPE_CHECKING:
    import onnx


# The first dimension is usually the batch, which stays small.
MOST_ROWS = 3
_CHANNELS = frozenset({1, 3, 4})
_SUM = re.compile(r"\s*([\w.]+)\s*\+\s*([\w.]+)\s*")


@dataclass(frozen=True, slots=True)
class Port:
    """An input, and what it is used for."""

    name: str
    kind: onnx.TypeProto
    use: Use


def has_free_sizes(model: onnx.ModelProto) -> bool:
    """Whether the size of a dimension of an input is not fixed."""
    shapes = [port.type.tensor_type.shape.dim for port in required_inputs(model)]
    return any(not dim.HasField("dim_value") for dims in shapes for dim in dims)


def is_mask(name: str) -> bool:
    """Whether an input is named as a mask, such as the attention mask of padded text."""
    return "mask" in name.lower()


def sized(
    ports: Iterable[onnx.ValueInfoProto], declared: Mapping[str, DeclaredInput]
) -> list[onnx.ValueInfoProto]:
    """The inputs with declared sizes in place of free ones, also where others have their symbol."""
    copies = [copy.deepcopy(port) for port in ports]
    symbols: dict[str, int] = {}
    for port in copies:
        shape = declared[port.name].shape if port.name in declared else None
        dims = port.type.tensor_type.shape.dim
        if shape is None or len(shape) != len(dims):
            continue
        for dim, size in zip(dims, shape, strict=True):
            if size is not None and not dim.HasField("dim_value"):
                symbols.setdefault(dim.dim_param, size)
                dim.dim_value = size
    symbols.pop("", None)
    for port in copies:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_param in symbols:
                dim.dim_value = symbols[dim.dim_param]
    return copies


def picture_sides(name: str, dims: Any) -> frozenset[int]:
    """The places of the sides of a picture among the dimensions of an input; none of others.

    Four axes of which one has as many elements as pictures have channels are pictures: NCHW or
    NHWC. Caches of keys or values have as many axes, and as few heads: their names say so.
    """
    names = (name, *(dim.dim_param for dim in dims))
    if len(dims) != 4 or any("past" in each.lower() for each in names):
        return frozenset()
    if dims[1].dim_value in _CHANNELS:
        return frozenset({2, 3})
    return frozenset({1, 2}) if dims[3].dim_value in _CHANNELS else frozenset()


def bind_cache(port: Port) -> None:
    """Give the free heads of a cache, and their free size, the number that its node needs."""
    dims = port.kind.tensor_type.shape.dim
    if not port.use.is_past or len(dims) != 4:
        return
    for dim, size in ((dims[1], port.use.heads), (dims[3], port.use.head_size)):
        if size > 0 and not dim.HasField("dim_value"):
            dim.dim_value = size


def most_new(ports: Sequence[Port], size: int, longest: int | None) -> int:
    """At most ``size`` new tokens, so that past and new ones together have positions.

    ``longest`` is how many positions the attention has, None where it has no table; embeddings of
    positions have another.
    """
    if not any(port.use.is_past or "past" in port.name.lower() for port in ports):
        return size
    tables = [port.use.below for port in ports if "position" in port.name.lower()]
    return min([size, *(max(1, rows // 2) for rows in (longest, *tables) if rows)])


def assign(ports: Sequence[Port], size: int, most_rows: int) -> dict[str, int]:
    """Assign sizes to symbols: equal ones, but keep sums such as total = past + sequence.

    First dimensions have at most ``most_rows``.
    """
    symbols: dict[str, int] = {}
    for port in ports:
        _gather_symbols(port.kind, symbols, size, most_rows)
    for symbol in symbols:
        terms = _SUM.fullmatch(symbol)
        if terms:
            symbols[symbol] = sum(
                int(term) if term.isdigit() else symbols.get(term, size) for term in terms.groups()
            )
    # Exporters of decoders name the length of keys and values "total_sequence_length" without a
    # sum; it is that of the cache and of the new tokens.
    past = [symbol for symbol in symbols if "past" in symbol.lower() and "+" not in symbol]
    whole = {symbol for symbol in symbols if "total" in symbol.lower()}
    for symbol in whole | (_lengths_of_masks(ports) if past else set()):
        if "+" not in symbol and symbol not in past:
            symbols[symbol] = size + sum(symbols[other] for other in past[:1])
    return symbols


def _lengths_of_masks(ports: Sequence[Port]) -> set[str]:
    """The last symbols of masks that no other input has: with a past, masks cover that too."""
    own: dict[bool, set[str]] = {True: set(), False: set()}
    for port in ports:
        symbols = [dim.dim_param for dim in port.kind.tensor_type.shape.dim]
        own[is_mask(port.name)].update(symbols[-1:] if is_mask(port.name) else symbols)
    return own[True] - own[False] - {""}


def _gather_symbols(
    kind: onnx.TypeProto, symbols: dict[str, int], size: int, most_rows: int
) -> None:
    match kind.WhichOneof("value"):
        case "tensor_type":
            dims = kind.tensor_type.shape.dim
            for place, dim in enumerate(dims):
                if dim.dim_param:
                    rows = place == 0 and len(dims) > 1
                    symbols.setdefault(dim.dim_param, min(size, most_rows) if rows else size)
        case "sequence_type":
            _gather_symbols(kind.sequence_type.elem_type, symbols, size, most_rows)
        case "optional_type":
            _gather_symbols(kind.optional_type.elem_type, symbols, size, most_rows)
