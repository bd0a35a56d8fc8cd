"""What this machine's runtimes really offer: each execution provider is tried before it is named.

A runtime lists the providers that it was compiled with, and falls back to the CPU without a word
where one does not work; so a provider counts only after a small model has run on it alone, with
the right result, inside a child as confined as those that open uploads.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runners.engine import runtimes
from runners.engine.confine import children, isolation
from runners.engine.confine.children import EndingKind
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.hardware import causes, devices
from runners.engine.reports import Offers
from runners.engine.runtimes import probing

if TYPE_CHECKING:
    import numpy as np

CPU = "CPUExecutionProvider"
_LIMITS = Limits(
    wall_seconds=60.0,
    cpu_seconds=60,
    memory_bytes=16 << 30,
    output_bytes=1 << 16,
    file_bytes=1 << 20,
)
# Providers may calculate in TF32 or half precision; a wrong kernel is further off than this.
_TOLERANCE = 2e-2


def offer(layers: frozenset[str]) -> Offers:
    """Tell which runtimes and providers work here; opens no session in this process."""
    offers = Offers()
    with tempfile.TemporaryDirectory(prefix="hub-offer-") as folder:
        place = Path(folder)
        confinement = Confinement(layers, _LIMITS, writable=(place,), folder=place)
        for name in runtimes.names():
            ending = children.run(partial(_profile, name), confinement, children.Stop())
            if ending.kind == EndingKind.ANSWERED:
                offers.runtimes[name], offers.profiles[name] = ending.answer
            else:
                offers.failed[name] = _words(ending)
        if "onnxruntime" in offers.runtimes:
            offers.compiled_in.extend(_compiled_in())
        for name in offers.compiled_in:
            alone = confinement
            if devices.is_gpu(name):
                alone = isolation.with_devices(confinement, devices.nodes())
            ending = children.run(partial(_try, name), alone, children.Stop())
            fault = str(ending.answer) if ending.kind == EndingKind.ANSWERED else _words(ending)
            if fault:
                offers.failed[name] = causes.brief(fault)
            else:
                offers.providers.append(name)
    return offers


def _profile(name: str) -> tuple[str, dict[str, int]]:
    """The version of a runtime, and the highest opset and IR version that it loads."""
    opset, ir_version = probing.highest(name)
    if not opset:
        raise RuntimeError("it loads no model of any opset")
    return runtimes.of(name).version(), {"opset": opset, "ir_version": ir_version}


def _compiled_in() -> list[str]:
    import onnxruntime  # noqa: PLC0415 - only in an environment that has it

    return [str(name) for name in onnxruntime.get_available_providers()]


def _try(provider: str) -> str:
    """Why a provider cannot be offered; empty where a model ran on it alone and was right."""
    import numpy as np  # noqa: PLC0415
    import onnxruntime  # noqa: PLC0415

    raw, inputs, expected = _model()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # One thread for each processor would be more than a child may have on a large machine.
    options.intra_op_num_threads = 1
    if devices.is_gpu(provider) and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    if provider != CPU:
        # The CPU is always allowed to take a node, and to be named beside this flag is an error.
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    try:
        # With its fallback, the Python binding tries again on the CPU and hides the first error.
        session = onnxruntime.InferenceSession(
            raw, options, providers=[provider], enable_fallback=0
        )
    except Exception:
        if cause := _load_error(provider):
            return cause
        if provider not in onnxruntime.get_available_providers():
            return causes.not_compiled(str(onnxruntime.__version__))
        raise
    if session.get_providers()[0] != provider:
        return _load_error(provider) or "the runtime put another provider in its place"
    (result,) = session.run(None, inputs)
    if not np.allclose(result, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
        return "its result differs from the CPU's"
    return ""


def _load_error(provider: str) -> str:
    """Why a provider's own library cannot be loaded; ONNX Runtime writes it to its log alone.

    Asked after the runtime has failed: a library that is loaded before has no host to call.
    """
    import onnxruntime  # noqa: PLC0415

    folder = Path(onnxruntime.__file__).parent / "capi"
    name = provider.removesuffix("ExecutionProvider").lower()
    library = folder / f"libonnxruntime_providers_{name}.so"
    if not library.is_file():
        return ""
    try:
        ctypes.CDLL(str(folder / "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        return f"{library.name} cannot be loaded: {error}"
    return ""


def _model() -> tuple[bytes, dict[str, np.ndarray], np.ndarray]:
    """A convolution and a product, small inputs, and what numpy makes of them."""
    import numpy as np  # noqa: PLC0415
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 2, 4, 4), dtype=np.float32)
    w = rng.standard_normal((3, 2, 1, 1), dtype=np.float32)
    b = rng.standard_normal((4, 5), dtype=np.float32)
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Conv", ["x", "w"], ["c"]),
            onnx.helper.make_node("MatMul", ["c", "b"], ["y"]),
        ],
        "self_test",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 3, 4, 5))],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")],
    )
    model = onnx.helper.make_model(
        graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]
    )
    expected = np.einsum("oc,nchw->nohw", w[:, :, 0, 0], x) @ b
    return model.SerializeToString(), {"x": x}, expected


def _words(ending: children.Ending) -> str:
    message = ": ".join(str(part) for part in ending.answer or ()) or ending.detail
    return causes.brief(f"{ending.kind}: {message}") if message else ending.kind
