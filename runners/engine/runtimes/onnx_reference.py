"""The ONNX reference evaluator: slow, simple, and the closest there is to the specification."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import REFERENCE
from runners.engine.onnx_files import bodies
from runners.engine.runtimes.errors import LoadError, UnsupportedModelError
from runners.engine.runtimes.exposing import expose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from runners.engine.onnx_files.datasets import Value
    from runners.engine.runtimes import Run, Runtime


_MOST_DENSE = 1 << 24


class _Reference:
    name = REFERENCE
    optimises = False

    def version(self) -> str:
        import onnx  # noqa: PLC0415 - preloaded by the fork server

        return str(onnx.__version__)

    def open(
        self,
        path: Path,
        *,
        optimise: bool = True,
        outputs: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Run:
        from onnx import external_data_helper  # noqa: PLC0415
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415

        model = expose(path, outputs)
        external_data_helper.load_external_data_for_model(model, str(folder or path.parent))
        _spell_alike(model)
        _densify(model)
        try:
            evaluator = ReferenceEvaluator(model, new_ops=[_zip_map()])
        except MemoryError:
            raise
        except NotImplementedError as error:
            raise UnsupportedModelError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = f"{type(error).__name__}: {error}"
            # It says so in many classes of its own.
            kind = UnsupportedModelError if "mplement" in words else LoadError
            raise kind(words) from None
        known = set(evaluator.input_names)
        optional = {
            port.name
            for port in model.graph.input
            if port.type.WhichOneof("value") == "optional_type"
        }

        def run(values: dict[str, Value]) -> list[Value]:
            feeds = {
                name: value
                for name, value in values.items()
                if name in known and (value is not None or name in optional)
            }
            return [_tidy(value) for value in evaluator.run(None, feeds)]

        return run

    def trace(self, path: Path, *, folder: Path) -> tuple[Run, Callable[[], list[str]]]:
        from onnx.reference import op_run  # noqa: PLC0415

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


def _spell_alike(model: Any) -> None:
    """Write the default domain's longer name as the short one, which alone the evaluator knows."""
    for named in (*model.opset_import, *bodies.nodes(model)):
        if named.domain == "ai.onnx":
            named.domain = ""


def _densify(model: Any) -> None:
    """Write sparse initializers out as dense ones: the evaluator stumbles over them."""
    import numpy as np  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    graph = model.graph
    for sparse in graph.sparse_initializer:
        if math.prod(sparse.dims) > _MOST_DENSE:
            return
        values = numpy_helper.to_array(sparse.values)
        places = numpy_helper.to_array(sparse.indices)
        dense = np.zeros(tuple(sparse.dims), values.dtype)
        where = tuple(places.T) if places.ndim > 1 else np.unravel_index(places, dense.shape)
        dense[where] = values
        graph.initializer.append(numpy_helper.from_array(dense, sparse.values.name))
    del graph.sparse_initializer[:]


@functools.cache
def _zip_map() -> Any:
    """Make the one operator that the evaluator lacks and most classifiers of scikit-learn have."""
    import numpy as np  # noqa: PLC0415
    from onnx.reference.op_run import OpRun  # noqa: PLC0415

    class ZipMap(OpRun):
        op_domain = "ai.onnx.ml"

        def _run(
            self, x: Any, classlabels_int64s: Any = None, classlabels_strings: Any = None
        ) -> tuple[list[dict[Any, Any]]]:
            labels = classlabels_strings or classlabels_int64s or []
            rows = np.asarray(x).reshape(-1, max(len(labels), 1))
            return ([dict(zip(labels, row, strict=False)) for row in rows],)

    return ZipMap


RUNTIME: Runtime = _Reference()


def _tidy(value: Any) -> Value:
    import numpy as np  # noqa: PLC0415

    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return [_tidy(item) for item in value]
    array: np.ndarray[Any, Any] = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "UST" else array
