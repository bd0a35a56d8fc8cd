"""Which options a benchmark may set for an execution provider or runtime, and their values.

The lists are closed: an unknown option is an error of some providers and ignored by others, and
either would be recorded as if it had been set. Names and values are those of the documentation of
the runtimes (ONNX Runtime's pages of execution providers, OpenVINO's properties). Options that name
a device, a file or another process of the host are left out: the hub decides those.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
IO_BINDING = "io_binding"
_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_MOST_BYTES = 1 << 40
_MOST_DIGITS = 15


class ProviderOptionError(ValueError):
    """An option is unknown, has a wrong value or contradicts another setting."""


# The values of an option: on or off, whole numbers, or words.
Kind = type[bool] | range | tuple[str, ...]
# Of ONNX Runtime's CPU these are settings of the session, under the names of its C API.
_CPU: dict[str, Kind] = {
    "enable_cpu_mem_arena": bool,
    "enable_mem_pattern": bool,
    "set_denormal_as_zero": bool,
}
_CUDA: dict[str, Kind] = {
    "use_tf32": bool,
    "enable_cuda_graph": bool,
    "prefer_nhwc": bool,
    "cudnn_conv_algo_search": ("EXHAUSTIVE", "HEURISTIC", "DEFAULT"),
    "cudnn_conv_use_max_workspace": bool,
    "cudnn_conv1d_pad_to_nc1d": bool,
    "do_copy_in_default_stream": bool,
    "enable_skip_layer_norm_strict_mode": bool,
    "arena_extend_strategy": ("kNextPowerOfTwo", "kSameAsRequested"),
    "gpu_mem_limit": range(1 << 20, _MOST_BYTES + 1),
}
_TENSORRT: dict[str, Kind] = {
    "trt_fp16_enable": bool,
    "trt_bf16_enable": bool,
    "trt_cuda_graph_enable": bool,
    "trt_builder_optimization_level": range(6),
    "trt_max_workspace_size": range(1 << 20, _MOST_BYTES + 1),
    "trt_context_memory_sharing_enable": bool,
    "trt_layer_norm_fp32_fallback": bool,
    "trt_sparsity_enable": bool,
    "trt_build_heuristics_enable": bool,
    "trt_min_subgraph_size": range(1, 1001),
    "trt_max_partition_iterations": range(1, 10_001),
}
_OPENVINO: dict[str, Kind] = {
    "PERFORMANCE_HINT": ("LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT"),
    "EXECUTION_MODE_HINT": ("PERFORMANCE", "ACCURACY"),
    "INFERENCE_PRECISION_HINT": ("f32", "f16", "bf16"),
    "SCHEDULING_CORE_TYPE": ("ANY_CORE", "PCORE_ONLY", "ECORE_ONLY"),
    "ENABLE_HYPER_THREADING": bool,
    "ENABLE_CPU_PINNING": bool,
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": range(4097),
}
BY_PROVIDER: dict[str, dict[str, Kind]] = {CPU: _CPU, CUDA: _CUDA, TENSORRT: _TENSORRT}
_GRAPHS = ("enable_cuda_graph", "trt_cuda_graph_enable")


def kinds_of(runtime: str, provider: str) -> dict[str, Kind]:
    """The options of a provider, or of a runtime that is its own; empty where none are known."""
    if runtime == OPENVINO:
        return _OPENVINO
    return BY_PROVIDER.get(provider, {}) if runtime == ONNXRUNTIME else {}


def read(
    runtime: str, provider: str, values: Mapping[str, Any], *, call_style: str, concurrency: int
) -> dict[str, bool | int | str]:
    """The options with values of their type, by name; raises ProviderOptionError."""
    kinds, whose = kinds_of(runtime, provider), provider if runtime == ONNXRUNTIME else runtime
    options: dict[str, bool | int | str] = {}
    for name in sorted(values):
        if name not in kinds:
            raise ProviderOptionError(_unknown(str(name), whose, kinds))
        try:
            options[name] = _value(kinds[name], values[name])
        except ValueError as error:
            words = f"{name} must be {error}, not {str(values[name])[:60]!r}."
            raise ProviderOptionError(words) from None
    for name in _GRAPHS:
        if options.get(name) and (call_style != IO_BINDING or concurrency > 1):
            raise ProviderOptionError(
                f"{name} needs the call style io_binding and a concurrency of 1: a captured graph "
                "reads and writes fixed addresses."
            )
    return options


def _value(kind: Kind, value: Any) -> bool | int | str:
    """A value of JSON or of a command line; raises ValueError with the values of this kind."""
    text = str(value)
    if isinstance(kind, tuple):
        if text not in kind:
            raise ValueError(f"one of {', '.join(kind)}")
        return text
    if isinstance(kind, range):
        is_whole = text.isdecimal() and len(text) <= _MOST_DIGITS
        if not is_whole or int(text) not in kind:
            raise ValueError(f"a whole number from {kind.start} to {kind.stop - 1}")
        return int(text)
    if text.lower() not in (*_YES, *_NO):
        raise ValueError("true or false")
    return text.lower() in _YES


def as_texts(options: Mapping[str, bool | int | str]) -> dict[str, str]:
    """The options as ONNX Runtime and OpenVINO take them: text, with 1 and 0 for flags."""
    return {
        name: str(int(value)) if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }


def _unknown(name: str, whose: str, kinds: Mapping[str, Kind]) -> str:
    if not kinds:
        return f"No options are known for {whose}."
    by_lower = {kind.lower(): kind for kind in kinds}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    names = ", ".join(by_lower[name] for name in near)
    hint = f"Did you mean {names}?" if near else f"Its options are {', '.join(kinds)}."
    return f"{whose} has no option {name[:60]!r}. {hint}"
