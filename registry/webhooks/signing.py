"""Secrets and signatures of webhooks, as the specification Standard Webhooks 1.0 has them.

A secret is `whsec_` and base64 of 32 random bytes. A signature is `v1,` and base64 of the
HMAC-SHA256 of `id.timestamp.body` (sections "Signature scheme" and "Symmetric"). While a secret is
replaced, messages have two signatures with a space between them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

from cryptography.fernet import InvalidToken

from registry.core import sealing

PREFIX = "whsec_"
SECRET_BYTES = 32
_PURPOSE = b"onnx-hub webhook secrets"


def new_secret() -> str:
    """A random secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal(secret: str) -> str:
    """The sealed form of a secret, as the database keeps it."""
    return sealing.seal(secret, _PURPOSE)


def unseal(sealed: str) -> str | None:
    """The secret; None where no key of the hub opens it."""
    try:
        return sealing.unseal(sealed, _PURPOSE)
    except InvalidToken:
        return None


def headers(message: str, timestamp: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of a message that is sent at ``timestamp``, in seconds since 1970."""
    signed = f"{message}.{timestamp}.".encode() + body
    signatures = [
        base64.b64encode(
            hmac.digest(base64.b64decode(secret.removeprefix(PREFIX)), signed, hashlib.sha256)
        ).decode()
        for secret in secrets
    ]
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
