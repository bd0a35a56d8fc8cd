"""OpenVINO on the CPU, one thread, computing in 32-bit floats as the model asks."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, numpy_helper

from hub.protocol.vocabularies import OPENVINO
from runners.engine.onnx_files.datasets import Value
from runners.engine.runtimes import LoadError, Run, Runtime, UnsupportedModelError
from runners.engine.runtimes.exposing import expose

_UNSUPPORTED = re.compile(
    r"OpConversionFailure|No conversion rule|[Uu]nsupported|not supported|[Nn]ot [Ii]mplemented"
    r"|doesn't support|not registered|isn't supported"
)
# Otherwise the plugin computes in bf16 where the processor has it, and says nothing.
_SETTINGS = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}
# OpenVINO's name of a type: ONNX's, for those that numpy lacks.
_STRANGE = {
    "bf16": "BFLOAT16",
    "f8e4m3": "FLOAT8E4M3FN",
    "f8e5m2": "FLOAT8E5M2",
    "f8e8m0": "FLOAT8E8M0",
    "f4e2m1": "FLOAT4E2M1",
    "i4": "INT4",
    "u4": "UINT4",
    "u2": "UINT2",
}


class _OpenVino:
    name = OPENVINO
    optimises = False
    widens_half = True

    def version(self) -> str:
        # The package's own string holds build and branch too.
        return importlib.metadata.version("openvino")

    def open(
        self,
        path: Path,
        *,
        optimise: bool = True,
        outputs: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Run:
        core = _library().Core()
        try:
            if outputs or folder is not None:
                whole = expose(path, outputs)
                weights = str(folder or path.parent)
                external_data_helper.load_external_data_for_model(whole, weights)
                model = core.read_model(bytes(whole.SerializeToString()))
            else:
                model = core.read_model(str(path))
            compiled = core.compile_model(model, "CPU", _SETTINGS)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = str(error)
            kind = UnsupportedModelError if _UNSUPPORTED.search(words) else LoadError
            raise kind(words) from None
        graph = onnx.load(str(path), load_external_data=False).graph
        inputs = {port.name for port in graph.input}
        for port in compiled.inputs:
            if not inputs.intersection(port.get_names()):
                # It does so with a value that it failed to convert, and reads stray memory.
                words = (
                    f"OpenVINO wants {sorted(port.get_names())} as input, which the graph makes."
                )
                raise UnsupportedModelError(words)
        return _Request(compiled, list(outputs) or [port.name for port in graph.output])

    def trace(self, path: Path, *, folder: Path) -> tuple[Run, Callable[[], list[str]]]:
        raise UnsupportedModelError("OpenVINO does not name the nodes that it runs.")


def _library() -> Any:
    # Never installed together with the development tools, so imported by name.
    return importlib.import_module("openvino")


class _Request:
    def __init__(self, compiled: Any, outputs: list[str]) -> None:
        self._request = compiled.create_infer_request()
        self._inputs = {name: port for port in compiled.inputs for name in port.get_names()}
        by_name = {name: port for port in compiled.outputs for name in port.get_names()}
        # One value may bear several names, of which the compiler keeps not always all.
        in_order = list(compiled.outputs)
        same_count = len(in_order) == len(outputs)
        self._outputs = [
            by_name.get(name, in_order[k] if same_count else None) for k, name in enumerate(outputs)
        ]
        if None in self._outputs:
            lost = outputs[self._outputs.index(None)]
            raise LoadError(f"The compiled model has no output called {lost}.")

    def __call__(self, values: dict[str, Value]) -> list[Value]:
        for name, value in values.items():
            if name in self._inputs and value is not None:
                self._request.set_tensor(self._inputs[name], _to_tensor(value, self._inputs[name]))
        self._request.infer()
        return [_to_array(self._request.get_tensor(port)) for port in self._outputs]


RUNTIME: Runtime = _OpenVino()


def _to_tensor(value: Value, port: Any) -> Any:
    openvino = _library()
    if isinstance(value, list | dict):
        raise UnsupportedModelError("OpenVINO takes no sequences and no maps as inputs.")
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        return openvino.Tensor(array.astype(np.str_))
    kind = port.get_element_type()
    if kind.get_type_name() not in _STRANGE:
        return openvino.Tensor(np.ascontiguousarray(array).reshape(array.shape))
    tensor = openvino.Tensor(kind, list(array.shape))
    raw = np.frombuffer(bytes(numpy_helper.from_array(array).raw_data), np.uint8)
    room = tensor.data.reshape(-1).view(np.uint8)
    room[:] = raw[: room.size]
    return tensor


def _to_array(tensor: Any) -> Value:
    name = tensor.element_type.get_type_name()
    if name == "string":
        return np.asarray(tensor.str_data).astype(object)
    if name not in _STRANGE:
        return np.array(tensor.data)
    raw = np.ascontiguousarray(tensor.data).tobytes()
    word = TensorProto.DataType.Value(_STRANGE[name])
    proto = TensorProto(data_type=word, dims=list(tensor.shape), raw_data=raw)
    return numpy_helper.to_array(proto)
