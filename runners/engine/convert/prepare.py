"""Preparation of a model for the tools: newer opset, no functions, named nodes, known shapes.

Everything runs in a child, in a folder that it may write.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
from onnx import TensorProto, numpy_helper

from runners.engine import runtimes
from runners.engine.convert.answers import Preparation
from runners.engine.convert.recipes import Recipe
from runners.engine.onnx_files import bodies, whole_models
from runners.engine.opsets import convert as convert_opset
from runners.engine.opsets import schemas

# Operators that the quantisation tools quantise: (operator, indices of weights).
_WEIGHTED = {
    "Conv": (1,),
    "ConvTranspose": (1,),
    "MatMul": (0, 1),
    "Gemm": (0, 1),
    "Gather": (0,),
    "LSTM": (1, 2),
    "Attention": (1,),
    "EmbedLayerNormalization": (2, 3, 4),
}
# The prepared model in the work folder.
FILE = "prepared.onnx"
_DENSE_BYTES = 64 << 20
# Models older than the tools accept are converted to an opset that all tools and runtimes support.
_MODERN = 13
_FREE_WEIGHTS_IR = 4
_SHORT_FORMS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
# The tool knows which inputs of this operator stay in float32.
_KNOWN_TO_TOOL = "Resize"


class NothingToConvertError(ValueError):
    """The model has nothing that the recipe changes; the message says what it looked for."""


class BlockedError(ValueError):
    """The model's opset is too old, and a node blocks the conversion to a newer one."""


def prepare(source: Path, work: Path, recipe: Recipe) -> Preparation:
    """Write `work`/prepared.onnx; returns what was done.

    Raises NothingToConvertError, BlockedError.
    """
    tempfile.tempdir = str(work)
    model = onnx.load(str(source))
    if recipe.quantises:
        _refuse_quantised(model)
    model, preparation = _renew(model, recipe.opset)
    steps = preparation.steps
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
        steps.append("functions inlined")
    if _densify(model):
        steps.append("sparse weights written out")
    if _fix_weights(model):
        steps.append("default inputs made constant")
    _write_constants_out(model)
    _name(model)
    target = work / FILE
    if recipe.quantises:
        steps.append(_pre_process(model, work, target))
        model = onnx.load(str(target))
        for path in whole_models.family(target):
            path.unlink()
        _name(model)
    else:
        _claim_types(model)
    _refuse_empty(model, recipe)
    whole_models.save(model, target)
    return preparation


def _refuse_quantised(model: onnx.ModelProto) -> None:
    operators = sorted(
        {
            operator
            for _, operator in bodies.operators(model)
            if operator.endswith(("QuantizeLinear", "DequantizeLinear", "Integer", "NBits"))
            or operator.startswith("QLinear")
        }
    )
    if operators:
        raise NothingToConvertError(
            f"The model is already quantised ({', '.join(operators[:3])}). Convert the float "
            "model it was made from."
        )


def _renew(model: onnx.ModelProto, least: int) -> tuple[onnx.ModelProto, Preparation]:
    version = opset_of(model)
    if version is None or version >= least:
        return model, Preparation(version, version, [], [])
    conversion = convert_opset(model, max(least, _MODERN))
    if conversion.model is None:
        block = conversion.blocking[0]
        raise BlockedError(
            f"The recipe needs operator set {conversion.target} or newer, and node "
            f"{block.node or '(unnamed)'!r} ({block.op}) cannot go there: {block.reason}."
        )
    preparation = Preparation(conversion.source, conversion.target, list(conversion.rules), [])
    return conversion.model, preparation


def opset_of(model: onnx.ModelProto) -> int | None:
    """The default opset; 1 if a model older than IR 3 imports none."""
    if model.ir_version < 3 and not model.opset_import:
        return 1
    return bodies.opset(model)


def _densify(model: onnx.ModelProto) -> bool:
    """Convert sparse weights to dense ones, since no tool supports them."""
    every = list(model.graph.sparse_initializer)
    for sparse in every:
        item_bytes = numpy_helper.to_array(sparse.values).itemsize
        if np.prod(tuple(sparse.dims), dtype=object) * item_bytes > _DENSE_BYTES:
            raise NothingToConvertError(
                f"The sparse weight {sparse.values.name!r} is too large to be expanded, which the "
                "tools require. Store it densely."
            )
        model.graph.initializer.append(bodies.dense(sparse))
    del model.graph.sparse_initializer[:]
    return bool(every)


def _fix_weights(model: onnx.ModelProto) -> bool:
    """Remove weights from the inputs, where callers could replace them."""
    model.ir_version = max(model.ir_version, _FREE_WEIGHTS_IR)
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [port for port in model.graph.input if port.name not in stored]
    if len(inputs) == len(model.graph.input):
        return False
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return True


def _write_constants_out(model: onnx.ModelProto) -> None:
    """Replace numeric attributes of constants by tensors, which all tools support."""
    for node in bodies.nodes(model):
        if node.op_type != "Constant" or not node.attribute:
            continue
        attribute = node.attribute[0]
        if attribute.name not in _SHORT_FORMS or attribute.ref_attr_name:
            continue
        value = np.array(onnx.helper.get_attribute_value(attribute), _SHORT_FORMS[attribute.name])
        tensor = numpy_helper.from_array(value)
        attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))


def _claim_types(model: onnx.ModelProto) -> None:
    """Declare outputs of removed operators as float32: the tool casts only known types.

    If that is wrong, the variant does not load, and the report says so.
    """
    version = opset_of(model) or schemas.NEWEST
    graph = model.graph
    typed = {port.name for port in (*graph.value_info, *graph.output, *graph.input)}
    for node in graph.node:
        if (
            node.domain not in bodies.DEFAULT_DOMAINS
            or schemas.schema(node.op_type, version) is not None
        ):
            continue
        for name in node.output:
            if name and name not in typed:
                graph.value_info.append(
                    onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                )


def _name(model: onnx.ModelProto) -> None:
    """Give every node a unique name, since the tools identify nodes by name."""
    names: set[str] = set()
    for place, node in enumerate(bodies.nodes(model)):
        if not node.name or node.name in names:
            node.name = f"{node.op_type}_n{place}"
        names.add(node.name)


def _pre_process(model: onnx.ModelProto, work: Path, target: Path) -> str:
    """Fold constants and infer shapes as the quantisation tools advise; less if that fails.

    Their symbolic inference is left out: it needs another package, and the figures show what is
    lost.
    """
    from onnxruntime.quantization.shape_inference import quant_pre_process  # noqa: PLC0415

    plain = work / "plain.onnx"
    whole_models.save(model, plain)
    large = whole_models.weight_bytes(model) > whole_models.INLINE_BYTES
    step = "optimised, shapes inferred"
    for skipped in ({}, {"skip_optimization": True}):
        result = runtimes.attempt(
            quant_pre_process,
            str(plain),
            str(target),
            skip_symbolic_shape=True,
            save_as_external_data=large,
            all_tensors_to_one_file=True,
            external_data_location=f"{target.name}.data",
            **skipped,
        )
        if not isinstance(result, Exception):
            for path in whole_models.family(plain):
                path.unlink()
            return step
        # The simpler way follows.
        target.unlink(missing_ok=True)
        step = "shapes inferred"
    whole_models.save(onnx.load(str(plain)), target)
    return "as it is"


def _refuse_empty(model: onnx.ModelProto, recipe: Recipe) -> None:
    if not recipe.quantises:
        if not any(
            tensor.data_type == TensorProto.FLOAT and any(size > 1 for size in tensor.dims)
            for tensor in whole_models.tensors(model)
        ):
            raise NothingToConvertError(
                "The model holds no float32 weights, so half precision would only add casts. "
                "Trees, text models and models that are in half precision already stay as they are."
            )
        return
    if not any(True for _ in weighted(model)):
        raise NothingToConvertError(
            "The model holds no float32 weights of operators that can be quantised (Conv, MatMul, "
            "Gemm, Gather, LSTM, Attention). Use the model as it is."
        )


def weighted(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The nodes with a float32 weight that the quantisation tools would change."""
    constants = {
        tensor.name
        for tensor in whole_models.tensors(model)
        if tensor.data_type == TensorProto.FLOAT
    }
    for node in bodies.nodes(model):
        if node.op_type == "Constant":
            kinds = {attribute.t.data_type for attribute in node.attribute}
            constants.update(node.output if TensorProto.FLOAT in kinds else ())
    return [
        node
        for node in bodies.nodes(model)
        if any(
            place < len(node.input) and node.input[place] in constants
            for place in _WEIGHTED.get(node.op_type, ())
        )
    ]


def fits_half(node: onnx.NodeProto, version: int) -> bool:
    """Whether the operator supports float16 wherever it supports float32."""
    if node.domain not in bodies.DEFAULT_DOMAINS:
        return node.domain != "ai.onnx.ml"
    schema = schemas.schema(node.op_type, version)
    if schema is None or node.op_type == _KNOWN_TO_TOOL:
        return schema is not None
    formal = [*schema.inputs, *schema.outputs]
    return all(
        "tensor(float)" not in parameter.types or "tensor(float16)" in parameter.types
        for parameter in formal
    )
