"""Calls of the conversion tools, each in a child, and fixes of known faults of their output."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto

from runners.engine.convert import calibration, prepare
from runners.engine.convert.answers import Variant
from runners.engine.convert.recipes import Recipe, Settings
from runners.engine.onnx_files import bodies, whole_models
from runners.engine.opsets import schemas

_TOOL_FILE = "made.onnx"
# How the half-precision tool names casts around nodes that stay in float32, and of the model's
# inputs and outputs, whose names end in a number.
CASTS_OF_THE_TOOL = re.compile(
    r"(.*_cast_to_fp(16|32)_node|graph_(input|output)_cast\d+)", re.DOTALL
)


def make(
    recipe: Recipe,
    settings: Settings,
    source: Path,
    work: Path,
    target: Path,
    in_float32: Sequence[str] = (),
) -> Variant:
    """Make the variant of `work`/prepared.onnx at `target`; returns how many nodes stay float32.

    `source` is the original, whose documentation and metadata the variant keeps. A half-precision
    variant computes the nodes named `in_float32` in float32. Raises NothingToConvertError, and
    whatever the tool raises.
    """
    tempfile.tempdir = str(work)
    file = work / _TOOL_FILE
    for old in whole_models.family(file):
        old.unlink(missing_ok=True)
    if recipe.quantises:
        left_alone = _quantise(recipe, settings, work, file)
        model = onnx.load(str(file))
    else:
        model, left_alone = _halve(settings, work, in_float32)
    _refuse_unchanged(model, recipe)
    _drop_twins(model.graph)
    _sort(model.graph)
    whole_models.restore(model, onnx.load(str(source), load_external_data=False))
    whole_models.save(model, target)
    return Variant(left_alone)


def _quantise(recipe: Recipe, settings: Settings, work: Path, target: Path) -> int:
    from onnxruntime.quantization import (  # noqa: PLC0415 - only where it is needed
        QuantType,
        quantize_dynamic,
        quantize_static,
    )

    prepared = work / prepare.FILE
    model = onnx.load(str(prepared), load_external_data=False)
    left = _not_to_quantise(model, settings)
    common: dict[str, Any] = {
        "weight_type": QuantType.QInt8,
        # Processors without VNNI add products of bytes in 16 bits, which 7-bit values do not
        # overflow.
        "reduce_range": True,
        "per_channel": settings.per_channel,
        "nodes_to_exclude": left,
        "use_external_data_format": len(whole_models.family(prepared)) > 1,
    }
    # Outputs of custom operators have no known type; float32 is assumed, as in the rest of the
    # model.
    extra: dict[str, Any] = {"DefaultTensorType": TensorProto.FLOAT}
    if recipe.calibrates:
        quantize_static(
            str(prepared),
            str(target),
            calibration.reader(work),
            activation_type=QuantType.QUInt8,
            extra_options=extra,
            **common,
        )
    else:
        extra["EnableSubgraph"] = settings.subgraphs
        quantize_dynamic(str(prepared), str(target), extra_options=extra, **common)
    return len(left)


def _not_to_quantise(model: onnx.ModelProto, settings: Settings) -> list[str]:
    """Names of nodes that the tools misinterpret, or whose weight is computed."""
    weighted = {node.name for node in prepare.weighted(model)}
    return [
        node.name
        for node in bodies.nodes(model)
        if (settings.weights_only and node.name not in weighted)
        or (node.op_type.startswith("Conv") and node.name not in weighted)
        or (node.op_type == "Attention" and node.domain != "com.microsoft")
    ]


def _refuse_unchanged(model: onnx.ModelProto, recipe: Recipe) -> None:
    if recipe.quantises:
        changed = any(
            tensor.data_type == TensorProto.INT8 for tensor in whole_models.tensors(model)
        )
    else:
        changed = bodies.uses_half(model)
    if not changed:
        raise prepare.NothingToConvertError(
            f"{recipe.tool} changed no weight of the model: they may lie in the bodies of If, Loop "
            "or Scan, belong to operators that it does not support, or to nodes that would "
            "overflow. Try another recipe."
        )


def _halve(
    settings: Settings, work: Path, in_float32: Sequence[str]
) -> tuple[onnx.ModelProto, int]:
    from onnxruntime.transformers import float16  # noqa: PLC0415

    prepared = work / prepare.FILE
    model = onnx.load(str(prepared), load_external_data=False)
    version = prepare.opset_of(model) or schemas.NEWEST
    left_alone = [
        node.name
        for node in bodies.nodes(model)
        if node.op_type in settings.kept
        or node.name in in_float32
        or not prepare.fits_half(node, version)
        or (settings.guarded and (bodies.bodies(node) or node.domain not in bodies.DEFAULT_DOMAINS))
    ]
    # Inputs and outputs stay float32, so that callers need no change.
    half = float16.convert_float_to_float16(
        str(prepared), keep_io_types=True, node_block_list=left_alone
    )
    _join_casts(half.graph)
    return half, len(left_alone)


def _join_casts(graph: onnx.GraphProto) -> None:
    """Remove the tool's casts to float16 and back between two nodes that stay in float32.

    They would make a value overflow that neither node does.
    """
    casts = {
        node.output[0]: (node.input[0], _target_of(node))
        for node in graph.node
        if node.op_type == "Cast" and CASTS_OF_THE_TOOL.fullmatch(node.name)
    }
    sources = {
        output: casts[name][0]
        for output, (name, kind) in casts.items()
        if kind == TensorProto.FLOAT and name in casts and casts[name][1] == TensorProto.FLOAT16
    }
    ports = {port.name for port in graph.output}
    for node in graph.node:
        if node.output[0] in sources and node.output[0] in ports:
            node.CopyFrom(
                onnx.helper.make_node(
                    "Identity", [sources[node.output[0]]], list(node.output), name=node.name
                )
            )
        for place, name in enumerate(node.input):
            if name in sources:
                node.input[place] = sources[name]
    _drop_unread(graph, set(casts))


def _drop_unread(graph: onnx.GraphProto, outputs: set[str]) -> None:
    """Remove nodes that make one of these values, which nothing reads."""
    read = {port.name for port in graph.output}
    for node in graph.node:
        read.update(bodies.reads(node))
    rest = [
        node.SerializeToString()
        for node in graph.node
        if node.output[0] not in outputs or node.output[0] in read
    ]
    if len(rest) < len(graph.node):
        del graph.node[:]
        graph.node.extend(onnx.NodeProto.FromString(content) for content in rest)
        _drop_unread(graph, outputs)


def _target_of(cast: onnx.NodeProto) -> int:
    return next(int(attribute.i) for attribute in cast.attribute if attribute.name == "to")


def _drop_twins(graph: onnx.GraphProto) -> None:
    """Remove duplicate casts, which the half-precision tool adds for each reader of a value."""
    earlier: set[bytes] = set()
    distinct = []
    for node in graph.node:
        content = node.SerializeToString()
        if node.op_type != "Cast" or content not in earlier:
            distinct.append(content)
        earlier.add(content)
    if len(distinct) < len(graph.node):
        del graph.node[:]
        graph.node.extend(onnx.NodeProto.FromString(content) for content in distinct)


def _sort(graph: onnx.GraphProto) -> None:
    """Sort the nodes topologically: the half-precision tool appends its casts."""
    makers = {name: place for place, node in enumerate(graph.node) for name in node.output if name}
    needs = [
        {makers[name] for name in bodies.reads(node) if name in makers} - {place}
        for place, node in enumerate(graph.node)
    ]
    if all(max(places, default=-1) < place for place, places in enumerate(needs)):
        return
    order: list[int] = []
    done: set[int] = set()
    for first in range(len(needs)):
        stack = [first]
        while stack:
            place = stack[-1]
            missing = [need for need in sorted(needs[place]) if need not in done]
            if place in done or len(stack) > len(needs):
                stack.pop()
            elif missing:
                stack.append(missing[0])
            else:
                done.add(place)
                order.append(place)
                stack.pop()
    if len(order) == len(needs):
        nodes = [graph.node[place].SerializeToString() for place in order]
        del graph.node[:]
        graph.node.extend(onnx.NodeProto.FromString(content) for content in nodes)
