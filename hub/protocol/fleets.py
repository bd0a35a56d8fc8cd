"""What a device of a fleet signs: texts that mean one thing, whatever else its key signs.

Each is a first line that names the kind, then its parts, one a line; no part has a line break.
"""

from __future__ import annotations

import hashlib


def enrolment(model: str, fleet: str, device: str, code: str) -> bytes:
    """What proves the key of a device that enrols; of the invitation it has the SHA-256 alone."""
    digest = hashlib.sha256(code.encode()).hexdigest()
    return _lines("onnx-hub fleet enrolment v1", model.lower(), fleet, device, digest)


def rotation(model: str, fleet: str, device: str, public_key: str) -> bytes:
    """What the present key signs of the new one."""
    return _lines("onnx-hub fleet rotation v1", model.lower(), fleet, device, public_key)


def _lines(*parts: str) -> bytes:
    return "".join(f"{part}\n" for part in parts).encode()
