"""Released versions of the runtimes: a record names one of them, or one that a worker here runs.

The list is of what was released for Python 3.11 until 2026-11-22. A newer release is known as soon
as a worker of the hub offers it.
"""

from __future__ import annotations

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO

_ONNXRUNTIME = frozenset(
    {
        "1.32.0",
        "1.31.1",
        "1.31.0",
        "1.30.0",
        "1.29.0",
        "1.28.0",
        "1.27.0",
        "1.26.0",
        "1.25.1",
        "1.25.0",
        "1.24.4",
        "1.24.3",
        "1.24.2",
        "1.24.1",
        "1.23.2",
        "1.23.1",
        "1.23.0",
        "1.22.1",
        "1.22.0",
        "1.21.1",
        "1.21.0",
        "1.20.1",
        "1.20.0",
        "1.19.2",
        "1.19.0",
        "1.18.1",
        "1.18.0",
        "1.17.3",
        "1.17.1",
        "1.17.0",
        "1.16.3",
        "1.16.2",
        "1.16.1",
        "1.16.0",
        "1.15.1",
        "1.15.0",
    }
)
_OPENVINO = frozenset(
    {
        "2026.4.1",
        "2026.4.0",
        "2026.3.1",
        "2026.3.0",
        "2026.2.1",
        "2026.2.0",
        "2026.1.0",
        "2026.0.0",
        "2025.4.1",
        "2025.4.0",
        "2025.3.0",
        "2025.2.0",
        "2025.1.0",
        "2025.0.0",
        "2024.6.0",
        "2024.5.0",
        "2024.4.0",
        "2024.3.0",
        "2024.2.0",
        "2024.1.0",
        "2024.0.0",
        "2023.3.0",
        "2023.2.0",
        "2023.1.0",
        "2023.0.2",
        "2023.0.1",
        "2023.0.0",
    }
)
# The commits that ONNX Runtime's releases state in their build, as far as the hub ran them.
COMMITS = {"1.32.0": "fab30a4", "1.31.1": "6af1a93"}
RELEASES = {ONNXRUNTIME: _ONNXRUNTIME, OPENVINO: _OPENVINO}
