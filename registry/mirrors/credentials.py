"""Tokens of sources: stored sealed with a key of the hub's secret, and shown to no one.

Fernet (AES-128-CBC with HMAC-SHA256) under a key that HKDF (RFC 5869) derives from SECRET_KEY, so
that a copy of the database alone opens none of them.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from hub.protocol import problems

LONGEST_TOKEN = 500


def seal(token: str) -> str:
    """The sealed form of a token, and of none the empty text; raises InvalidRequest."""
    if not token:
        return ""
    if len(token) > LONGEST_TOKEN or not (token.isascii() and token.isprintable()):
        raise problems.InvalidRequest.at(
            "/token", f"A token has up to {LONGEST_TOKEN} printable ASCII characters."
        )
    return _box().encrypt(token.encode()).decode()


def unseal(sealed: str) -> str:
    """The token; raises NotAuthenticated where the hub's secret key has changed since."""
    if not sealed:
        return ""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise problems.NotAuthenticated(
            "The token of this mirror cannot be read, since the secret key of this hub has "
            "changed. Set the token again."
        ) from error


def _box() -> Fernet:
    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"onnx-hub mirror tokens")
    return Fernet(base64.urlsafe_b64encode(kdf.derive(settings.SECRET_KEY.encode())))
