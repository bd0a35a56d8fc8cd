"""What a worker says of what it does not offer: the cause, not only that it failed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import structlog

from runners.engine.hardware import causes, providers
from runners.engine.reports import Offers
from runners.queue import registration
from runners.worker_features import WorkerFeatures

# As ONNX Runtime words them; the signature before CUDA's own words is longer than a report keeps.
_SIGNATURE = (
    "raised: RuntimeError: /onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:129 "
    "std::conditional_t<THRW, void, onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, "
    "const char*, const char*, SUCCTYPE, const char*, const char*, int) [with ERRTYPE = cudaError; "
    "bool THRW = true; SUCCTYPE = cudaError; std::conditional_t<THRW, void, common::Status> = void]"
)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("libcublasLt.so.12: cannot open shared object file: No such file", "missing-library"),
        (f"{_SIGNATURE} CUDA failure 35: CUDA driver version is insufficient ; GPU=-1",
         "driver-too-old"),
        (f"{_SIGNATURE} CUDA failure 100: no CUDA-capable device is detected ; GPU=-1",
         "no-device"),
        (f"{_SIGNATURE} CUDA failure 2: out of memory ; GPU=0", "out-of-memory"),
        (f"{_SIGNATURE} CUDA failure 999: unknown error ; GPU=0", "failed"),
        ("ONNX Runtime 1.31.1 of this worker was compiled without this provider",
         "not-compiled-in"),
        ("its result differs from the CPU's", "wrong-result"),
        (("This session contains graph nodes that are assigned to the default CPU EP, but fallback "
         "to CPU EP has been explicitly disabled by the user."), "no-nodes"),
        ("signalled: SIGSEGV", "failed"),
    ],
)  # fmt: skip
def test_a_message_has_a_cause_and_a_cure(message, code):
    cause = causes.of(causes.brief(message))
    assert cause.code == code
    assert cause.cure
    assert code in causes.CODES


def test_the_words_of_cuda_are_kept_and_not_the_signature_before_them():
    words = f"{_SIGNATURE} CUDA failure 35: CUDA driver version is insufficient ; GPU=-1 ; x=y"
    assert causes.brief(words) == "CUDA failure 35: CUDA driver version is insufficient"
    assert len(causes.brief("x" * 1000)) == 300


class Sandbox:
    """The sandbox of a worker, as far as its features go."""

    def __init__(self, **offers):
        self._offers = Offers({"onnxruntime": "1.31.1"}, **offers)

    def level(self):
        return probe_level()

    def offers(self):
        return self._offers

    def versions(self):
        return {}


def probe_level():
    from dataclasses import make_dataclass

    return make_dataclass("Level", [("name", str)], frozen=True)("full")


@pytest.mark.parametrize(
    ("queues", "compiled_in", "lacking"),
    [
        (["cpu"], ["CPUExecutionProvider"], []),
        (["gpu-a100"], ["CPUExecutionProvider"],
         ["CUDAExecutionProvider", "TensorrtExecutionProvider"]),
        (["gpu-a100"], ["CUDAExecutionProvider"], ["TensorrtExecutionProvider"]),
    ],
)  # fmt: skip
def test_a_worker_for_gpus_says_what_its_build_lacks(queues, compiled_in, lacking):
    found = registration.features(Sandbox(compiled_in=compiled_in), queues)
    assert sorted(found.failed) == lacking
    assert {one.code for one in registration.unavailable(found).values()} <= {"not-compiled-in"}


def test_what_is_unavailable_is_logged_with_cause_and_cure():
    failed = {"CUDAExecutionProvider": "libcudnn.so.9: cannot open shared object file"}
    with structlog.testing.capture_logs() as lines:
        registration.log_unavailable(WorkerFeatures(failed=failed))
    [line] = lines
    assert (line["event"], line["log_level"]) == ("provider_unavailable", "warning")
    assert (line["cause"], line["reason"]) == ("missing-library", failed["CUDAExecutionProvider"])


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_build_for_cpus_asked_for_cuda_gives_its_reason():
    """The real library: with its fallback it would have run the model on the CPU in silence."""
    reason = providers._try("CUDAExecutionProvider")
    assert "was compiled without this provider" in reason
    assert causes.of(reason).code == "not-compiled-in"


def test_the_reason_of_a_session_that_raises_is_the_one_that_is_told(monkeypatch):
    import onnxruntime

    asked = []
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])

    def raising(*_, **given):
        asked.append(given)
        raise RuntimeError(f"{_SIGNATURE} CUDA failure 100: no CUDA-capable device ; GPU=-1")

    monkeypatch.setattr(onnxruntime, "InferenceSession", raising)
    with pytest.raises(RuntimeError) as caught:
        providers._try("CUDAExecutionProvider")
    assert asked[0]["enable_fallback"] == 0
    ending = SimpleNamespace(kind="raised", answer=["RuntimeError", str(caught.value)], detail="")
    assert providers._words(ending) == "CUDA failure 100: no CUDA-capable device"
