"""Why an execution provider does not work on a host: a code and a cure for what its test said.

ONNX Runtime buries the cause in signatures of C++ functions, or in its log; the words that matter
are taken out of it. Messages of CUDA are those of its runtime API (cudaError_t).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MISSING_LIBRARY, DRIVER, NO_DEVICE = "missing-library", "driver-too-old", "no-device"
NOT_COMPILED, WRONG_RESULT, OTHER = "not-compiled-in", "wrong-result", "failed"
NO_MEMORY, NO_NODES = "out-of-memory", "no-nodes"
_CUDA_FAILURE = re.compile(r"CUDA failure (\d+): ([^;\n]{1,200})")
_LIBRARY = re.compile(r"([\w.+-]+\.so[\w.]*): cannot open shared object file")
_CODES = {"2": NO_MEMORY, "35": DRIVER, "36": DRIVER, "100": NO_DEVICE, "101": NO_DEVICE}
_WORDS = (
    ("compiled without", NOT_COMPILED),
    ("its result differs", WRONG_RESULT),
    ("fallback to CPU EP has been explicitly disabled", NO_NODES),
    ("driver version is insufficient", DRIVER),
    ("no CUDA-capable device", NO_DEVICE),
)
_CURES = {
    MISSING_LIBRARY: "Install the library in the environment of the worker, or in its "
    "LD_LIBRARY_PATH; those of CUDA and cuDNN come with onnxruntime-gpu[cuda,cudnn].",
    DRIVER: "Update the NVIDIA driver of the host, or use an onnxruntime-gpu for an older CUDA.",
    NO_DEVICE: "Give the worker a GPU: device files, and CUDA_VISIBLE_DEVICES=GPU-<uuid>.",
    NOT_COMPILED: "Run the worker with an environment of onnxruntime-gpu instead of onnxruntime.",
    WRONG_RESULT: "Do not use this provider on this host; update its driver and libraries first.",
    NO_MEMORY: "Free memory of the GPU: other processes use it.",
    NO_NODES: "Nothing to do: this provider takes none of the test's operators.",
    OTHER: "Administrators see the message of the library.",
}
CODES = tuple(_CURES)


@dataclass(frozen=True, slots=True)
class Cause:
    """What kept a provider from working, and what to do about it."""

    code: str
    cure: str


def of(message: str) -> Cause:
    """The cause of a message of a provider's test."""
    failure = _CUDA_FAILURE.search(message)
    if _LIBRARY.search(message):
        code = MISSING_LIBRARY
    elif failure and failure[1] in _CODES:
        code = _CODES[failure[1]]
    else:
        code = next((code for words, code in _WORDS if words in message), OTHER)
    return Cause(code, _CURES[code])


def not_compiled(version: str) -> str:
    """The message of a provider that a build of ONNX Runtime was made without."""
    return f"ONNX Runtime {version} of this worker was compiled without this provider"


def brief(message: str) -> str:
    """The part of a message that says what is wrong, without the signatures around it."""
    failure = _CUDA_FAILURE.search(message)
    if failure:
        return f"CUDA failure {failure[1]}: {failure[2].strip()}"
    return " ".join(message.split())[:300]
