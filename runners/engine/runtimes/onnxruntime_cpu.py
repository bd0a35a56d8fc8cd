"""ONNX Runtime on the CPU, one thread."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine.onnx_files.datasets import Value
from runners.engine.runtimes import LoadError, Run, UnpreparedError, UnsupportedModelError
from runners.engine.runtimes.exposing import expose
from runners.engine.runtimes.graph_passes import GraphPasses

_UNSUPPORTED = re.compile(
    r"NOT_IMPLEMENTED|is not a registered function/op|Could not find an implementation"
    r"|is under development and support for this is limited|[Uu]nsupported model IR version"
    r"|ONNX Runtime only \*guarantees\* support|No opset import for domain|MLDataType for"
    r"|No Op registered for|Unsupported OpSet|Type 'tensor\(\w+\)' of input parameter"
)
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_EVENT = re.compile(r'"name" ?: ?"([^"]*)"')
_VERBOSE = 0
_NO_LOCALE = "the model works on text, and this worker has no en_US.UTF-8 locale"
# ONNX types that numpy lacks or that the runtime hands over as something else: (name, bits).
_STRANGE = {
    "tensor(bfloat16)": ("BFLOAT16", 16),
    "tensor(float8e4m3fn)": ("FLOAT8E4M3FN", 8),
    "tensor(float8e4m3fnuz)": ("FLOAT8E4M3FNUZ", 8),
    "tensor(float8e5m2)": ("FLOAT8E5M2", 8),
    "tensor(float8e5m2fnuz)": ("FLOAT8E5M2FNUZ", 8),
    "tensor(float8e8m0)": ("FLOAT8E8M0", 8),
    "tensor(float4e2m1)": ("FLOAT4E2M1", 4),
    "tensor(int4)": ("INT4", 4),
    "tensor(uint4)": ("UINT4", 4),
    "tensor(int2)": ("INT2", 2),
    "tensor(uint2)": ("UINT2", 2),
}


class _OnnxRuntime:
    name = ONNXRUNTIME
    optimises = True
    widens_half = True

    def version(self) -> str:
        import onnxruntime  # noqa: PLC0415 - preloaded by the fork server

        return str(onnxruntime.__version__)

    def open(
        self,
        path: Path,
        *,
        optimise: bool = True,
        outputs: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Run:
        options = _options(optimise=optimise)
        source: str | bytes = str(path)
        if outputs or folder is not None:
            options.add_session_config_entry(_WEIGHTS_FOLDER, str(folder or path.parent))
            source = expose(path, outputs).SerializeToString()
        return _Session(_load(source, options))

    def trace(self, path: Path, *, folder: Path) -> tuple[Run, Callable[[], list[str]]]:
        options = _options(optimise=False)
        options.enable_profiling = True
        options.profile_file_prefix = str(path.with_suffix(""))
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(folder))
        session = _load(path.read_bytes(), options)
        return _Session(session), lambda: _names(session.end_profiling())

    def open_at(self, path: Path, passes: GraphPasses, *, folder: Path) -> Run:
        """Load a model with some passes of the optimiser; raises what `open` raises.

        The runtime's log goes to the standard error, which `graph_passes.suspects` reads.
        """
        import onnxruntime  # noqa: PLC0415

        options = _options(optimise=True)
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = getattr(levels, f"ORT_ENABLE_{passes.level.upper()}")
        options.log_severity_level = _VERBOSE
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(folder))
        return _Session(_load(path.read_bytes(), options, passes.without))


def _options(*, optimise: bool) -> Any:
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def _load(source: str | bytes, options: Any, without: Sequence[str] = ()) -> Any:
    import onnxruntime  # noqa: PLC0415

    try:
        return onnxruntime.InferenceSession(
            source,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=list(without),
        )
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a library may raise anything here
        words = str(error)
        if "locale" in words:
            raise UnpreparedError(_NO_LOCALE) from None
        if type(error).__name__ == "NotImplemented" or _UNSUPPORTED.search(words):
            raise UnsupportedModelError(words) from None
        raise LoadError(words) from None


def _names(profile: str) -> list[str]:
    """List the nodes of a profile in the order of their ends; it holds an event on each line."""
    suffix = "_kernel_time"
    with open(profile, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
        return [
            name[0].removesuffix(suffix)
            for line in lines
            if suffix in line and (name := _EVENT.findall(line))
        ]


class _Session:
    def __init__(self, session: Any) -> None:
        self._session = session
        self._inputs = {port.name: port.type for port in session.get_inputs()}
        self._inputs |= {port.name: port.type for port in session.get_overridable_initializers()}
        self._outputs = [(port.name, port.type) for port in session.get_outputs()]

    def __call__(self, values: dict[str, Value]) -> list[Value]:
        feeds = {
            name: _to_feed(value, self._inputs[name])
            for name, value in values.items()
            if name in self._inputs and (value is not None or "optional" in self._inputs[name])
        }
        if not any(kind in _STRANGE for _, kind in self._outputs):
            values = self._session.run(None, feeds)
            return [
                _tidy(value, kind) for value, (_, kind) in zip(values, self._outputs, strict=True)
            ]
        return self._run_strangely(feeds)

    def _run_strangely(self, feeds: dict[str, Any]) -> list[Value]:
        import onnxruntime  # noqa: PLC0415

        values = {
            name: value
            if isinstance(value, onnxruntime.OrtValue)
            else onnxruntime.OrtValue.ortvalue_from_numpy(value)
            for name, value in feeds.items()
        }
        names = [name for name, _ in self._outputs]
        results = self._session.run_with_ort_values(names, values)
        return [
            _read_strange(value, _STRANGE[kind]) if kind in _STRANGE else _tidy(value.numpy(), kind)
            for value, (_, kind) in zip(results, self._outputs, strict=True)
        ]


RUNTIME = _OnnxRuntime()


def _tidy(value: Any, kind: str) -> Value:
    import numpy as np  # noqa: PLC0415

    if isinstance(value, dict):
        # The binding makes Python's floats of a map's values, whatever they were.
        scalar = np.float32 if "tensor(float)" in kind else np.asarray
        return {key: scalar(element) for key, element in value.items()}
    if value is None:
        return value
    if isinstance(value, list | tuple):
        return [_tidy(item, kind) for item in value]
    array: np.ndarray[Any, Any] = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "UST" else array


def _to_feed(value: Value, kind: str) -> Any:
    import numpy as np  # noqa: PLC0415
    import onnxruntime  # noqa: PLC0415
    from onnx import TensorProto  # noqa: PLC0415

    if value is None or isinstance(value, list | dict):
        return value
    array = np.asarray(value)
    if kind not in _STRANGE:
        return array
    word, bits = _STRANGE[kind]
    stored = np.ascontiguousarray(array).reshape(array.shape)
    if bits < 8:
        # The runtime reads packed elements from the front of a buffer of the same shape.
        packed = _pack(stored.reshape(-1).view(np.uint8), bits)
        room = np.zeros(max(stored.size, packed.size), np.uint8)
        room[: packed.size] = packed
        stored = room[: stored.size].reshape(array.shape)
    else:
        stored = stored.view({8: np.uint8, 16: np.uint16}[bits])
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        stored, int(TensorProto.DataType.Value(word))
    )


def _pack(elements: Any, bits: int) -> Any:
    import numpy as np  # noqa: PLC0415

    each = 8 // bits
    padded = np.zeros(-(-elements.size // each) * each, np.uint8)
    padded[: elements.size] = elements & ((1 << bits) - 1)
    rows = padded.reshape(-1, each)
    packed = np.zeros(len(rows), np.uint8)
    for place in range(each):
        packed |= rows[:, place] << (bits * place)
    return packed


def _read_strange(value: Any, strange: tuple[str, int]) -> Value:
    """Read the elements of a type that the runtime's own binding cannot hand to numpy."""
    import numpy as np  # noqa: PLC0415
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415

    if not value.has_value():
        return None
    word, bits = strange
    shape = value.shape()
    size = -(-int(np.prod(shape, dtype=np.int64)) * bits // 8)
    raw = ctypes.string_at(value.data_ptr(), size) if size else b""
    tensor = TensorProto(data_type=TensorProto.DataType.Value(word), dims=shape, raw_data=raw)
    return numpy_helper.to_array(tensor)
