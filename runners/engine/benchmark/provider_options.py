"""Which options a benchmark may set for an execution provider or runtime, and their values.

The lists are closed: an unknown option is an error of some providers and ignored by others, and
either would be recorded as if it had been set. Names and values are those of the documentation of
the runtimes (ONNX Runtime's pages of execution providers, OpenVINO's properties). Options that name
a device, a file or another process of the host are left out: the hub decides those.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO

if TYPE_CHECKING:
    from collections.abc import Mapping

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
TENSORRT = "TensorrtExecutionProvider"
IO_BINDING = "io_binding"
_YES, _NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_MOST_BYTES = 1 << 40


class ProviderOptionError(ValueError):
    """An option is unknown, has a wrong value or contradicts another setting."""


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that is on or off."""

    words: str = "true or false"

    def read(self, value: Any) -> bool:
        """The value of JSON or of a command line; raises ValueError."""
        text = str(value).lower()
        if text in _YES or text in _NO:
            return text in _YES
        raise ValueError


@dataclass(frozen=True, slots=True)
class Whole:
    """An option that is a whole number within limits."""

    least: int
    most: int

    @property
    def words(self) -> str:
        """The values for messages."""
        return f"a whole number from {self.least} to {self.most}"

    def read(self, value: Any) -> int:
        """The value of JSON or of a command line; raises ValueError."""
        text = str(value)
        if isinstance(value, bool) or not text.isdecimal() or len(text) > 15:
            raise ValueError
        number = int(text)
        if not self.least <= number <= self.most:
            raise ValueError
        return number


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that is one of some words."""

    values: tuple[str, ...]

    @property
    def words(self) -> str:
        """The values for messages."""
        return f"one of {', '.join(self.values)}"

    def read(self, value: Any) -> str:
        """The value of JSON or of a command line; raises ValueError."""
        if value not in self.values:
            raise ValueError
        return str(value)


Kind = Flag | Whole | Choice
# Of ONNX Runtime's CPU these are settings of the session, under the names of its C API.
_CPU: dict[str, Kind] = {
    "enable_cpu_mem_arena": Flag(),
    "enable_mem_pattern": Flag(),
    "set_denormal_as_zero": Flag(),
}
_CUDA: dict[str, Kind] = {
    "use_tf32": Flag(),
    "enable_cuda_graph": Flag(),
    "prefer_nhwc": Flag(),
    "cudnn_conv_algo_search": Choice(("EXHAUSTIVE", "HEURISTIC", "DEFAULT")),
    "cudnn_conv_use_max_workspace": Flag(),
    "cudnn_conv1d_pad_to_nc1d": Flag(),
    "do_copy_in_default_stream": Flag(),
    "enable_skip_layer_norm_strict_mode": Flag(),
    "arena_extend_strategy": Choice(("kNextPowerOfTwo", "kSameAsRequested")),
    "gpu_mem_limit": Whole(1 << 20, _MOST_BYTES),
}
_TENSORRT: dict[str, Kind] = {
    "trt_fp16_enable": Flag(),
    "trt_bf16_enable": Flag(),
    "trt_cuda_graph_enable": Flag(),
    "trt_builder_optimization_level": Whole(0, 5),
    "trt_max_workspace_size": Whole(1 << 20, _MOST_BYTES),
    "trt_context_memory_sharing_enable": Flag(),
    "trt_layer_norm_fp32_fallback": Flag(),
    "trt_sparsity_enable": Flag(),
    "trt_build_heuristics_enable": Flag(),
    "trt_min_subgraph_size": Whole(1, 1000),
    "trt_max_partition_iterations": Whole(1, 10_000),
}
_OPENVINO: dict[str, Kind] = {
    "PERFORMANCE_HINT": Choice(("LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT")),
    "EXECUTION_MODE_HINT": Choice(("PERFORMANCE", "ACCURACY")),
    "INFERENCE_PRECISION_HINT": Choice(("f32", "f16", "bf16")),
    "SCHEDULING_CORE_TYPE": Choice(("ANY_CORE", "PCORE_ONLY", "ECORE_ONLY")),
    "ENABLE_HYPER_THREADING": Flag(),
    "ENABLE_CPU_PINNING": Flag(),
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": Whole(0, 4096),
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
            options[name] = kinds[name].read(values[name])
        except ValueError:
            words = f"{name} must be {kinds[name].words}, not {str(values[name])[:60]!r}."
            raise ProviderOptionError(words) from None
    for name in _GRAPHS:
        if options.get(name) and (call_style != IO_BINDING or concurrency > 1):
            raise ProviderOptionError(
                f"{name} needs the call style io_binding and a concurrency of 1: a captured graph "
                "reads and writes fixed addresses."
            )
    return options


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
