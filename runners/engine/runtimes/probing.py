"""Finds out what a runtime really loads, whatever its documents or the onnx package say."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.runtimes import LoadError, Runtime

_LOWEST_OPSET, _LOWEST_IR = 7, 3


@functools.cache
def highest(name: str = ONNXRUNTIME) -> tuple[int, int]:
    """Find the highest (opset, IR version) that the runtime really loads and runs, once a process.

    Loads tiny models from the installed onnx package's own newest opset downwards. Raises
    MissingRuntimeError; gives (0, 0) if it loads none.
    """
    import onnx  # noqa: PLC0415

    runtime = runtimes.of(name)

    with _room() as folder:
        place = Path(folder) / "model.onnx"
        newest = onnx.defs.onnx_opset_version()
        irs = range(int(onnx.IR_VERSION), _LOWEST_IR - 1, -1)
        # The lowest opset that current runtimes load finds the IR version first, then the other
        # way round: neither hides the other.
        ir = next((ir for ir in irs if _runs(runtime, place, _LOWEST_OPSET, ir)), 0)
        opsets = range(newest, _LOWEST_OPSET - 1, -1)
        return next((opset for opset in opsets if ir and _runs(runtime, place, opset, ir)), 0), ir


def _room() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="hub-probe-")
    except OSError:  # a confined child may write only where it works
        return tempfile.TemporaryDirectory(prefix="hub-probe-", dir=Path.cwd())


def relu(opset: int, ir_version: int) -> bytes:
    """A model of one node, from two floats `x` to two floats `y`."""
    import onnx  # noqa: PLC0415

    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x", "y")
    ]
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "probe", ports[:1], ports[1:])
    imports = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, ir_version=ir_version, opset_imports=imports)
    return bytes(model.SerializeToString())


def _runs(runtime: Runtime, place: Path, opset: int, ir: int) -> bool:
    import numpy as np  # noqa: PLC0415

    place.write_bytes(relu(opset, ir))
    try:
        (result,) = runtime.open(place)({"x": np.array([-1, 2], np.float32)})
    except (LoadError, RuntimeError, ValueError):
        return False
    return isinstance(result, np.ndarray) and result.tolist() == [0.0, 2.0]
