"""The ONNX reference evaluator: slow, simple, and the closest there is to the specification."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import external_data_helper
from onnx.reference import ReferenceEvaluator, op_run
from onnx.reference.op_run import OpRun
from onnx.reference.ops._op_list import load_op

from hub.protocol.vocabularies import REFERENCE
from runners.engine.onnx_files import bodies, special_values
from runners.engine.onnx_files.datasets import Value
from runners.engine.runtimes import LoadError, Run, Runtime, UnsupportedModelError, windows
from runners.engine.runtimes.exposing import expose

_MOST_DENSE = 1 << 24
# Outputs of nodes that are kept for other models.
_MOST_KEPT_BYTES = 1 << 30
# Opsets where the number of outputs says whether a batch normalization trains.
_TRAINS_BY_OUTPUTS = range(7, 14)
# Operators whose second input an attribute aligns with an axis of the first, before this opset.
_FIRST_ALIGNED_BY_SHAPE = 7
_ALIGNED = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Less", "Greater", "Equal")


class _Reference:
    name = REFERENCE
    optimises = False
    widens_half = False

    def version(self) -> str:
        return str(onnx.__version__)

    def open(
        self,
        path: Path,
        *,
        optimise: bool = True,
        outputs: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Run:
        model = expose(path, outputs)
        external_data_helper.load_external_data_for_model(model, str(folder or path.parent))
        # Of the default domain the evaluator knows the short name alone.
        for holder in (*model.opset_import, *bodies.nodes(model)):
            holder.domain = "" if holder.domain in bodies.DEFAULT_DOMAINS else holder.domain
        _densify(model)
        try:
            opset = bodies.opset(model) or int(onnx.defs.onnx_opset_version())
            own = [_zip_map(), _gather_elements(), _global_max_pool(), _cast(opset)]
            if opset < _FIRST_ALIGNED_BY_SHAPE:
                own += [*map(_aligned, _ALIGNED), _sloped()]
            if opset in _TRAINS_BY_OUTPUTS:
                _expect_no_training(model)
                own.append(_batch_normalization())
            evaluator = ReferenceEvaluator(model, new_ops=own)
        except MemoryError:
            raise
        except NotImplementedError as error:
            raise UnsupportedModelError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = f"{type(error).__name__}: {error}"
            # It says so in many classes of its own.
            kind = UnsupportedModelError if "mplement" in words else LoadError
            raise kind(words) from None
        windows.replace_in_evaluator()
        names = set(evaluator.input_names)
        optional = {
            port.name
            for port in model.graph.input
            if port.type.WhichOneof("value") == "optional_type"
        }

        def run(values: dict[str, Value]) -> list[Value]:
            feeds = {
                name: value
                for name, value in values.items()
                if name in names and (value is not None or name in optional)
            }
            return [_tidy(value) for value in evaluator.run(None, feeds)]

        return run

    def trace(self, path: Path, *, folder: Path) -> tuple[Run, Callable[[], list[str]]]:
        ended: list[str] = []
        base: Any = op_run.OpRun
        plain = base.run

        def run(node: Any, *values: Any, **others: Any) -> Any:
            results = plain(node, *values, **others)
            ended.append(str(node.onnx_node.name))
            return results

        # The child that traces does nothing else with the evaluator.
        base.run = run
        return self.open(path, folder=folder), lambda: ended


@contextmanager
def nodes_once() -> Iterator[None]:
    """Compute a node once for all models that run in this block, in a child that does nothing else.

    A node is not computed again if the same implementation has had equal attributes and inputs, bit
    for bit: two forms of a model then differ from the first changed node that gives other values.
    """
    outcomes: dict[Any, Any] = {}
    room = _MOST_KEPT_BYTES
    base: Any = op_run.OpRun
    plain = base.run

    def run(node: Any, *values: Any, **others: Any) -> Any:
        nonlocal room
        key = None if others or _depends_on_more(node) else _content_of(node, values)
        if key is None:
            return plain(node, *values, **others)
        if key not in outcomes:
            results = plain(node, *values)
            room -= sum(getattr(value, "nbytes", _MOST_KEPT_BYTES) for value in results)
            if room < 0:
                return results
            outcomes[key] = results
        return outcomes[key]

    base.run = run
    try:
        yield
    finally:
        base.run = plain


def _depends_on_more(node: Any) -> bool:
    """Whether a node gives more than its class, attributes and inputs say, such as its bodies."""
    is_composed = isinstance(node, op_run.OpFunction) or node.has_subgraph
    is_random = node.onnx_node.op_type in bodies.RANDOM | {"Dropout"}
    return is_composed or is_random or node.has_linked_attribute or node.need_context()


def _content_of(node: Any, values: Sequence[Any]) -> Any:
    """The implementation of a node, its attributes and a digest of its inputs; None without one."""
    proto = node.onnx_node
    arrays = [value for value in values if value is not None]
    if not all(isinstance(value, np.ndarray) and value.dtype.kind != "O" for value in arrays):
        return None
    attributes = sorted(attribute.SerializeToString() for attribute in proto.attribute)
    digest = hashlib.sha256(repr([(value.dtype.str, value.shape) for value in arrays]).encode())
    for value in arrays:
        digest.update(np.ascontiguousarray(value).view(np.uint8).data)
    places = tuple(value is None for value in values)
    return type(node), tuple(attributes), tuple(map(bool, proto.output)), places, digest.digest()


def implemented_opset(operator: str, opset: int) -> int:
    """The opset whose definition of an operator the evaluator follows for a model of `opset`.

    It has few implementations of older definitions; for all other models it follows the newest. An
    operator without an implementation is computed by the function of its own definition, `Cast` by
    its own tables (`_cast`), and operators of two inputs as `_aligned` and `_sloped` say.
    """
    is_old = opset < _FIRST_ALIGNED_BY_SHAPE
    if operator == "Cast" or (is_old and operator in {*_ALIGNED, "PRelu"}):
        return opset
    from onnx.reference.ops import _op_list  # noqa: PLC0415

    classes = _op_list._build_registered_operators()  # noqa: SLF001 - there is no public way
    versions = classes.get(operator)
    if versions is None:
        return opset
    older = [version for version in versions if version is not None and version <= opset]
    newest = int(onnx.defs.onnx_opset_version())
    return max(older) if len(versions) > 1 and older else newest


def _densify(model: Any) -> None:
    """Write sparse initializers out as dense ones: the evaluator stumbles over them."""
    graph = model.graph
    for sparse in graph.sparse_initializer:
        if math.prod(sparse.dims) > _MOST_DENSE:
            return
        graph.initializer.append(bodies.dense(sparse))
    del graph.sparse_initializer[:]


@functools.cache
def _zip_map() -> Any:
    """Make the one operator that the evaluator lacks and most classifiers of scikit-learn have."""

    class ZipMap(OpRun):
        op_domain = "ai.onnx.ml"

        def _run(
            self, x: Any, classlabels_int64s: Any = None, classlabels_strings: Any = None
        ) -> tuple[list[dict[Any, Any]]]:
            labels = classlabels_strings or classlabels_int64s or []
            rows = np.asarray(x).reshape(-1, max(len(labels), 1))
            return ([dict(zip(labels, row, strict=False)) for row in rows],)

    return ZipMap


@functools.cache
def _gather_elements() -> Any:
    """Make `GatherElements` take indices that are shorter than the data, as its definition has it.

    The evaluator refuses them, and takes one index of each row where an axis is longer than 32.
    """

    class GatherElements(OpRun):
        op_domain = ""

        def _run(self, data: Any, indices: Any, axis: int | None = None) -> tuple[Any]:
            places = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
            along = axis or 0
            size = data.shape[along]
            places[along] = np.where(indices < 0, indices + size, indices)
            return (data[tuple(places)],)

    return GatherElements


@functools.cache
def _aligned(op: str) -> Any:
    """Make an operator of two inputs align them as its definitions up to opset 6 say.

    With `broadcast`, the first axis of the second input is `axis` of the first one, and the last
    axes are the same without `axis`. Without `broadcast`, both have the same shape.
    """

    class Aligned(load_op("", op, _FIRST_ALIGNED_BY_SHAPE)):  # type: ignore[misc]
        op_domain = ""

        def _run(self, a: Any, b: Any) -> Any:
            broadcast, axis = (getattr(self, name, None) for name in ("broadcast", "axis"))
            if not broadcast and a.shape != b.shape:
                raise ValueError(f"the shapes {a.shape} and {b.shape} differ")
            if broadcast and axis is not None:
                behind = a.ndim - axis % max(a.ndim, 1) - b.ndim
                b = b.reshape(*b.shape, *[1] * behind)
            if np.broadcast_shapes(a.shape, b.shape) != a.shape:
                raise ValueError(f"the shape {b.shape} does not fit into {a.shape}")
            return super()._run(a, b)

    # The evaluator reads the name of the operator from that of the class.
    Aligned.__name__ = op
    return Aligned


@functools.cache
def _sloped() -> Any:
    """Make `PRelu` have one slope, or one for each channel, as defined up to opset 6."""

    class PRelu(OpRun):
        op_domain = ""

        def _run(self, x: Any, slope: Any) -> tuple[Any]:
            if slope.size > 1:
                if slope.shape != x.shape[1:2]:
                    raise ValueError(f"the slopes {slope.shape} are not one for each channel")
                slope = slope.reshape(-1, *[1] * (x.ndim - 2))
            return (np.where(x > 0, x, x * slope).astype(x.dtype),)

    return PRelu


@functools.cache
def _global_max_pool() -> Any:
    """Make `GlobalMaxPool` take the maximum over all axes behind the channels.

    The evaluator counts the axes from their number: right for pictures alone, an error for signals
    and wrong values for volumes.
    """

    class GlobalMaxPool(OpRun):
        op_domain = ""

        def _run(self, x: Any) -> tuple[Any]:
            return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)

    return GlobalMaxPool


def _expect_no_training(model: Any) -> None:
    """Raise NotImplementedError where a batch normalization of opsets 7 to 13 trains."""
    for node in bodies.nodes(model):
        if node.op_type == "BatchNormalization" and len(list(filter(None, node.output))) > 1:
            raise NotImplementedError("BatchNormalization with outputs for training")


@functools.cache
def _batch_normalization() -> Any:
    """Make `BatchNormalization` of opsets 7 to 13 use the statistics of its inputs.

    The definition says so where Y is the only output. The evaluator mixes in those of the batch
    whenever there is a momentum, which has a default.
    """

    class BatchNormalization(OpRun):
        op_domain = ""

        def _run(  # noqa: PLR0917 - inputs and attributes of the operator
            self,
            x: Any,
            scale: Any,
            bias: Any,
            mean: Any,
            variance: Any,
            epsilon: float | None = None,
            momentum: float | None = None,
            training_mode: int | None = None,
            spatial: int | None = None,
        ) -> tuple[Any]:
            # With spatial = 0 (opset 7) each place of a channel has statistics of its own.
            shape = mean.shape if spatial == 0 else (-1, *[1] * (x.ndim - 2))
            scale, bias, mean, variance = (
                value.reshape(shape) for value in (scale, bias, mean, variance)
            )
            y = scale * (x - mean) / np.sqrt(variance + (epsilon or 0.0)) + bias
            return (y.astype(x.dtype),)

    return BatchNormalization


@functools.cache
def _cast(opset: int) -> Any:
    """Make `Cast` follow the table of special values in its definition at an opset.

    The evaluator follows that of opset 24 for all models.
    """

    class Cast(load_op("", "Cast", opset)):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, to: Any = None, saturate: Any = None, **others: Any) -> Any:
            names = super()._run.__code__.co_varnames
            arguments = {name: value for name, value in others.items() if name in names}
            if "saturate" in names:
                arguments["saturate"] = saturate
            (result,) = super()._run(x, to=to, **arguments)
            name = onnx.TensorProto.DataType.Name(to)
            table = special_values.of_cast(opset, name, saturates=bool(saturate))
            return (_by_table(np.asarray(x), np.asarray(result), table),)

    return Cast


def _by_table(x: Any, result: Any, table: Mapping[str, str]) -> Any:
    """Write the special values of a table into the result of a cast of floats."""
    if not table or x.dtype.kind not in "fV":
        return result
    wide = x.astype(np.float64)
    places = {
        "0": (wide == 0) & ~np.signbit(wide),
        "-0": (wide == 0) & np.signbit(wide),
        "NaN": np.isnan(wide),
        "Inf": wide == np.inf,
        "-Inf": wide == -np.inf,
    }
    largest = float(ml_dtypes.finfo(result.dtype).max)  # type: ignore[no-untyped-call]
    values = {
        "0": 0.0,
        "-0": -0.0,
        "NaN": np.nan,
        "-NaN": np.nan,
        "Inf": np.inf,
        "-Inf": -np.inf,
        "FLT_MAX": largest,
        "-FLT_MAX": -largest,
    }
    output = result.copy()
    for name, value in table.items():
        if name in places and value in values:
            output[places[name]] = result.dtype.type(values[value])
    return output


RUNTIME: Runtime = _Reference()


def _tidy(value: Any) -> Value:
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return [_tidy(item) for item in value]
    array: np.ndarray[Any, Any] = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "UST" else array
