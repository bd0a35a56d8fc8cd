"""Local functions: kept where nothing inside them changed, else inlined before converting."""

from __future__ import annotations

import onnx
from onnx import inliner

from runners.engine.opsets import normal, schemas
from runners.engine.opsets.outcome import InvalidModelError

INLINED = "local-functions-inlined"


def settle(
    model: onnx.ModelProto, source: int, target: int
) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """Make the functions valid at the target; gives the model and the names of rules used."""
    if not model.functions:
        return model, ()
    if all(_unchanged(function, source, target) for function in model.functions):
        return model, ()
    for function in model.functions:
        version = _version(function)
        if version not in {None, source} and _unchanged(function, source, source):
            _import(function, source)
    other = any(_version(function) not in {None, source} for function in model.functions)
    try:
        inlined = inliner.inline_local_functions(model, convert_version=other)
    except RuntimeError as error:
        raise InvalidModelError(f"its local functions cannot be inlined: {error}") from None
    normal.normalise(inlined)
    return inlined, (INLINED,)


def untouched(model: onnx.ModelProto, source: int, target: int) -> bool:
    """Prove from the registry that no operator inside the functions changed at all."""
    return all(
        node.domain != "" or schemas.same(node.op_type, _version(function) or source, target)
        for function in model.functions
        for node in normal.nodes_of(function)
    )


def _version(function: onnx.FunctionProto) -> int | None:
    return next((one.version for one in function.opset_import if one.domain == ""), None)


def _import(function: onnx.FunctionProto, version: int) -> None:
    for one in function.opset_import:
        if one.domain == "":
            one.version = version


def _unchanged(function: onnx.FunctionProto, source: int, target: int) -> bool:
    written = _version(function) or source
    return all(
        node.domain != ""
        or schemas.same(node.op_type, written, target)
        or schemas.widened(node.op_type, written, target)
        for node in normal.nodes_of(function)
    )
