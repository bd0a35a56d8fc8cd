"""Reads what a model takes and gives: names, element types, shapes with symbols."""

from __future__ import annotations

from typing import Any

from runners.engine.onnx_files import text, walk, wire
from runners.engine.onnx_files.vocabulary import DATA_TYPES
from runners.engine.onnx_files.walk import Walk

_MAX_TYPE_DEPTH = 16
_DOC_CHARACTERS = 300
_TENSOR, _SEQUENCE, _MAP, _OPAQUE, _SPARSE, _OPTIONAL = 1, 4, 5, 7, 8, 9


def read_value(state: Walk, start: int, end: int) -> tuple[bytes, dict[str, Any]]:
    """Read a ValueInfoProto as {"name", "type", ...}; the exact name comes along as bytes."""
    state.values += 1
    state.spend("graph values", state.values, walk.MAX_VALUES)
    name, described, documentation = b"", {"type": "unknown"}, ""
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if kind != wire.BYTES:
            continue
        if number == 1:
            name = state.name(first, second)
        elif number == 2:
            described = _read_type(state, first, second, 0)
        elif number == 3:
            documentation = state.document(first, second, _DOC_CHARACTERS, "doc_string")
    value: dict[str, Any] = {"name": text.decode(name, text.NAME_LIMIT), **described}
    if documentation:
        value["doc"] = documentation
    return name, value


def _read_type(state: Walk, start: int, end: int, depth: int) -> dict[str, Any]:
    if depth > _MAX_TYPE_DEPTH:
        raise walk.OverBudgetError("A value's type is nested more than 16 deep.")
    described: dict[str, Any] = {"type": "unknown"}
    denotation = ""
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if kind != wire.BYTES:
            continue
        if number == 6:
            denotation = state.words(first, second, text.NAME_LIMIT)
        elif number in {_TENSOR, _SPARSE}:
            described = _read_tensor_type(state, first, second)
            described["type"] = "tensor" if number == _TENSOR else "sparse_tensor"
        elif number in {_SEQUENCE, _OPTIONAL}:
            described = {
                "type": "sequence" if number == _SEQUENCE else "optional",
                "element": _read_element(state, first, second, depth),
            }
        elif number == _MAP:
            described = _read_map(state, first, second, depth)
        elif number == _OPAQUE:
            described = {"type": "opaque"}
    if denotation:
        described["denotation"] = denotation
    return described


def _read_element(state: Walk, start: int, end: int, depth: int) -> dict[str, Any]:
    for first, second in wire.messages(state.buffer, start, end, 1):
        return _read_type(state, first, second, depth + 1)
    return {"type": "unknown"}


def _read_map(state: Walk, start: int, end: int, depth: int) -> dict[str, Any]:
    described: dict[str, Any] = {"type": "map", "key": "unknown", "value": {"type": "unknown"}}
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if number == 1 and kind == wire.VARINT:
            described["key"] = data_type_name(first)
        elif number == 2 and kind == wire.BYTES:
            described["value"] = _read_type(state, first, second, depth + 1)
    return described


def _read_tensor_type(state: Walk, start: int, end: int) -> dict[str, Any]:
    described: dict[str, Any] = {"type": "tensor", "dtype": "unknown", "shape": None}
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if number == 1 and kind == wire.VARINT:
            described["dtype"] = data_type_name(first)
        elif number == 2 and kind == wire.BYTES:
            described["shape"] = _read_shape(state, first, second)
    return described


def _read_shape(state: Walk, start: int, end: int) -> list[int | str | None]:
    """Read dimensions: a number, a symbol, or None where nothing is described."""
    shape: list[int | str | None] = []
    for first, second in wire.messages(state.buffer, start, end, 1):
        state.spend("dimensions on one value", len(shape) + 1, walk.MAX_DIMENSIONS)
        size: int | str | None = None
        for inner, inner_kind, inner_first, inner_end in wire.fields(state.buffer, first, second):
            if inner == 1 and inner_kind == wire.VARINT:
                size = wire.signed(inner_first)
            elif inner == 2 and inner_kind == wire.BYTES:
                size = state.words(inner_first, inner_end, text.NAME_LIMIT) or None
        shape.append(size)
    return shape


def data_type_name(number: int) -> str:
    return DATA_TYPES[number][0] if number in DATA_TYPES else "unknown"
