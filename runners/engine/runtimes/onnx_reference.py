"""The ONNX reference evaluator: slow, simple, and the closest there is to the specification."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
from onnx import external_data_helper
from onnx.reference import ReferenceEvaluator, op_run
from onnx.reference.op_run import OpRun
from onnx.reference.ops._op_list import load_op

from hub.protocol.vocabularies import REFERENCE
from runners.engine.onnx_files import bodies, special_values
from runners.engine.runtimes import LoadError, Run, Runtime, UnsupportedModelError
from runners.engine.runtimes.exposing import expose

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.onnx_files.datasets import Value


_MOST_DENSE = 1 << 24


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
            evaluator = ReferenceEvaluator(model, new_ops=[_zip_map(), _cast(opset)])
        except MemoryError:
            raise
        except NotImplementedError as error:
            raise UnsupportedModelError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = f"{type(error).__name__}: {error}"
            # It says so in many classes of its own.
            kind = UnsupportedModelError if "mplement" in words else LoadError
            raise kind(words) from None
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


def implemented_opset(operator: str, opset: int) -> int:
    """The opset whose definition of an operator the evaluator follows for a model of `opset`.

    It has few implementations of older definitions; for all other models it follows the newest. An
    operator without an implementation is computed by the function of its own definition, and `Cast`
    by its own tables (`_cast`).
    """
    if operator == "Cast":
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
        "0": 0.0, "-0": -0.0, "NaN": np.nan, "-NaN": np.nan, "Inf": np.inf, "-Inf": -np.inf,
        "FLT_MAX": largest, "-FLT_MAX": -largest,
    }  # fmt: skip
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
