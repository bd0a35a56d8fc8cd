"""What an enrolled worker signs of a benchmark's record (Ed25519, keys as in `federated`)."""

from __future__ import annotations


def benchmark_statement(content_sha256: str) -> bytes:
    """The bytes that are signed: the digest of all that was measured, the challenge included."""
    return f"onnx-model-hub/benchmark-signature\n{content_sha256}\n".encode("ascii")
