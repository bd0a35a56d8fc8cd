"""Opens a model for a stopwatch: one callable that infers, in the call style that was asked for.

Unlike the runtimes of conformance these leave threads, providers and binding to the benchmark.
Works in children only.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hub.protocol.vocabularies import OPENVINO
from runners.engine.benchmark import provider_options
from runners.engine.benchmark.record import GPU_PROVIDERS, NOT_APPLICABLE, NOT_EXPOSED
from runners.engine.benchmark.requests import Profile, SessionFacts, SessionRequest
from runners.engine.runtimes import onnxruntime_cpu

CPU = "CPUExecutionProvider"
OPENVINO_CPU = "OpenVINO:CPU"
# Larger models are not written a second time to learn the digest of their optimised form.
_MOST_OPTIMISED = 256 << 20
_MOST_MAJOR = 40


class ProviderLostError(RuntimeError):
    """Another execution provider stands where the one that was asked for stood."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One inference at a time on a session that several callers may share."""

    infer: Callable[[], object]
    # What an inference gave, from what `infer` returned: bound outputs lie elsewhere.
    read: Callable[[object], Any] = lambda output: output


@dataclass(slots=True)
class Opened:
    """A model ready to infer, and what is known of how it will be run.

    There are as many callers as queries may be in flight; each has bound tensors of its own.
    """

    callers: list[Caller]
    facts: SessionFacts
    # Asked when the stopwatch has stopped; raises ProviderLostError.
    expect_provider: Callable[[], None] = lambda: None
    # Of a profiled session: ends the profile and gives what it held.
    finish: Callable[[int], Profile] | None = None
    references: list[Any] = field(default_factory=list)


def open_session(request: SessionRequest, feeds: dict[str, Any], *, profiled: bool) -> Opened:
    """Open a model as the arguments of a measurement say."""
    if request.runtime == OPENVINO:
        return _open_openvino(request, feeds, profiled=profiled)
    return _open_onnxruntime(request, feeds, profiled=profiled)


def _open_onnxruntime(request: SessionRequest, feeds: dict[str, Any], *, profiled: bool) -> Opened:
    import onnxruntime  # noqa: PLC0415 - only a child loads it

    provider = request.provider
    if provider in GPU_PROVIDERS and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    options = _options(onnxruntime, request, profiled=profiled)
    providers: list[Any] = [(provider, _provider_options(request))]
    if provider != CPU:
        if request.strict_provider:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        else:
            providers.append(CPU)
    # Else a provider that fails is replaced by another one, and that would be timed.
    session = onnxruntime.InferenceSession(
        request.model, options, providers=providers, enable_fallback=0
    )
    kinds = {port.name: port.type for port in session.get_inputs()}
    values = {
        name: onnxruntime_cpu._to_feed(value, kinds[name])  # noqa: SLF001 - the same feeds
        for name, value in feeds.items()
        if name in kinds
    }
    opened = Opened(
        [_caller(session, values, request) for _ in range(request.concurrency)],
        _facts(onnxruntime, session, request),
        lambda: _expect_provider(session, provider),
    )
    if profiled:
        from runners.engine.benchmark import profiles  # noqa: PLC0415

        opened.finish = lambda warm: profiles.of_onnxruntime(session, warm)
        digest = _digest(options.optimized_model_filepath)
        opened.facts = replace(opened.facts, optimised_model_sha256=digest)
    return opened


def _expect_provider(session: Any, provider: str) -> None:
    providers = list(session.get_providers())
    if providers[:1] != [provider]:
        names = ", ".join(map(str, providers)) or "nothing"
        raise ProviderLostError(f"{provider} was requested, but {names} ran the model")


def _provider_options(request: SessionRequest) -> dict[str, str]:
    """What the provider itself is opened with; TensorRT finds engines that were built before.

    The profiled process, which is not timed, is the first to build them.
    """
    if request.provider == CPU:
        return {}  # settings of the session, see `_options`
    texts = provider_options.as_texts(request.provider_options)
    if request.provider == provider_options.TENSORRT:
        texts |= {
            "trt_engine_cache_enable": "1",
            "trt_timing_cache_enable": "1",
            "trt_engine_cache_path": request.engine_cache,
            "trt_timing_cache_path": request.engine_cache,
        }
    return texts


def _options(onnxruntime: Any, request: SessionRequest, *, profiled: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = request.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if request.provider == CPU:
        provider_options = request.provider_options
        options.enable_cpu_mem_arena = provider_options.get("enable_cpu_mem_arena", True)
        options.enable_mem_pattern = provider_options.get("enable_mem_pattern", True)
        if provider_options.get("set_denormal_as_zero"):
            options.add_session_config_entry("session.set_denormal_as_zero", "1")
    spins = "1" if request.spinning else "0"
    options.add_session_config_entry("session.intra_op.allow_spinning", spins)
    if request.turn_seconds and request.threads > 1:
        # Threads that go on looking for work would do so in the other model's turns.
        options.add_session_config_entry("session.force_spinning_stop", "1")
    if profiled:
        options.enable_profiling = True
        options.profile_file_prefix = "profile"
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        if Path(request.model).stat().st_size <= _MOST_OPTIMISED:
            options.optimized_model_filepath = "optimised.onnx"
    return options


def _caller(session: Any, values: dict[str, Any], request: SessionRequest) -> Caller:
    """One inference, and what reads the outputs from what it returned."""
    if request.call_style == "run":
        if any(type(value).__name__ == "OrtValue" for value in values.values()):
            inputs = {name: _on_device(value, "cpu") for name, value in values.items()}
            names = [port.name for port in session.get_outputs()]
            return Caller(lambda: session.run_with_ort_values(names, inputs))
        return Caller(lambda: session.run(None, values))
    device = GPU_PROVIDERS.get(request.provider, "cpu")
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, _on_device(value, device))
    for port in session.get_outputs():
        binding.bind_output(port.name, device)
    read = lambda _: binding.get_outputs()  # noqa: E731
    if device == "cpu":
        return Caller(lambda: session.run_with_iobinding(binding), read)

    def infer() -> None:
        session.run_with_iobinding(binding)
        # Work that was only handed over is not done: without this a launch would be timed.
        binding.synchronize_outputs()

    return Caller(infer, read)


def _on_device(value: Any, device: str) -> Any:
    import onnxruntime  # noqa: PLC0415

    if type(value).__name__ == "OrtValue":
        return value
    return onnxruntime.OrtValue.ortvalue_from_numpy(value, device, 0)


def _facts(onnxruntime: Any, session: Any, request: SessionRequest) -> SessionFacts:
    claimed = session.get_providers()
    return SessionFacts(
        runtime_version=str(onnxruntime.__version__),
        runtime_build=str(onnxruntime.get_build_info())[:500],
        ep_version=_ep_version(request.provider),
        claimed=request.provider if request.provider in claimed else claimed[0],
        graph_opt_level="all",
        execution_mode="sequential",
    )


def _ep_version(provider: str) -> str:
    """The versions of the libraries that a GPU's provider works with, as they say themselves.

    Only what this process has loaded is asked: nothing is loaded to be asked.
    """
    if provider not in GPU_PROVIDERS:
        return NOT_APPLICABLE
    versions = []
    for name, library, ask in _LIBRARIES:
        loaded = _loaded(library)
        with contextlib.suppress(AttributeError):
            if loaded is not None and (version := ask(loaded)):
                versions.append(f"{name} {version}")
    return ", ".join(versions) or NOT_EXPOSED


def _loaded(library: str) -> Any:
    """A library that this process holds, of whatever major version; None where it does not."""
    for major in range(_MOST_MAJOR):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(f"{library}.{major}", mode=os.RTLD_NOLOAD)
    return None


def _cuda_version(library: Any) -> int | None:
    value = ctypes.c_int()
    return int(value.value) if library.cudaRuntimeGetVersion(ctypes.byref(value)) == 0 else None


def _cudnn_version(library: Any) -> int:
    library.cudnnGetVersion.restype = ctypes.c_size_t
    return int(library.cudnnGetVersion())


# Name, library, and what it is asked: numbers as each library writes them.
_LIBRARIES = (
    ("CUDA", "libcudart.so", _cuda_version),
    ("cuDNN", "libcudnn.so", _cudnn_version),
    ("TensorRT", "libnvinfer.so", lambda library: int(library.getInferLibVersion())),
)


def _digest(path: str) -> str:
    place = Path(path) if path else None
    if place is None or not place.is_file():
        return NOT_EXPOSED
    with place.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    place.unlink()
    return digest


def _open_openvino(request: SessionRequest, feeds: dict[str, Any], *, profiled: bool) -> Opened:
    openvino = importlib.import_module("openvino")
    core = openvino.Core()
    streams = request.concurrency
    plugin: dict[str, Any] = {
        # The plugin shares its threads among the streams: each inference has as many as asked.
        "INFERENCE_NUM_THREADS": request.threads * streams,
        "NUM_STREAMS": streams,
        # Otherwise the plugin computes in bf16 where the processor has it, and says nothing.
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
        **request.provider_options,
    }
    if profiled:
        plugin["PERF_COUNT"] = True
    compiled = core.compile_model(core.read_model(request.model), "CPU", plugin)
    requests = [compiled.create_infer_request() for _ in range(streams)]
    ports = {name: port for port in compiled.inputs for name in port.get_names()}
    values = {ports[name]: value for name, value in feeds.items() if name in ports}
    bound = {port: openvino.Tensor(value) for port, value in values.items()}
    outputs = len(compiled.outputs)
    width = "one stream" if streams == 1 else f"{streams} streams"
    hint = str(plugin.get("PERFORMANCE_HINT", "LATENCY")).lower().replace("_", " ")
    precision = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
    kind = precision[str(plugin["INFERENCE_PRECISION_HINT"])]
    facts = SessionFacts(
        runtime_version=importlib.import_module("importlib.metadata").version("openvino"),
        runtime_build=str(openvino.get_version())[:500],
        claimed=OPENVINO_CPU,
        graph_opt_level=NOT_APPLICABLE,
        execution_mode=f"{hint}, {width}, {kind}",
        optimised_model_sha256=NOT_APPLICABLE,
    )
    is_bound = request.call_style != "run"
    callers = [
        _openvino_caller(request, bound if is_bound else values, outputs, is_bound=is_bound)
        for request in requests
    ]
    opened = Opened(callers, facts, references=[compiled, requests, bound])
    if profiled:
        from runners.engine.benchmark import profiles  # noqa: PLC0415

        opened.finish = lambda _: profiles.of_openvino(compiled, requests[0], OPENVINO_CPU)
    return opened


def _openvino_caller(
    request: Any, values: dict[Any, Any], outputs: int, *, is_bound: bool
) -> Caller:
    """A caller of one infer request, of which OpenVINO runs one inference at a time."""
    infer: Callable[[], object] = lambda: request.infer(values)  # noqa: E731
    if is_bound:
        for port, tensor in values.items():
            request.set_tensor(port, tensor)
        infer = request.infer
    return Caller(infer, lambda _: [request.get_output_tensor(k).data for k in range(outputs)])
