"""Tokens of sources: stored sealed with a key of the hub's secret, and shown to no one.

Fernet (AES-128-CBC with HMAC-SHA256) under a key that HKDF (RFC 5869) derives from SECRET_KEY, so
that a copy of the database alone opens none of them. Tokens that were sealed under a key of
SECRET_KEY_FALLBACKS are still read; ``renewed`` seals them under the present one.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
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
    return _box(settings.SECRET_KEY).encrypt(token.encode()).decode()


def unseal(sealed: str) -> str:
    """The token; raises NotAuthenticated where no key of the hub opens it."""
    if not sealed:
        return ""
    try:
        return _boxes().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise problems.NotAuthenticated(
            "The token of this mirror cannot be read, since the secret key of this hub has "
            "changed. Set the token again, or add the former key to HUB_SECRET_KEY_FALLBACKS."
        ) from error


def renewed(sealed: str) -> str:
    """The token sealed under the present key; ``sealed`` itself where that is so already.

    Raises NotAuthenticated where no key of the hub opens it.
    """
    try:
        _box(settings.SECRET_KEY).decrypt(sealed.encode())
    except InvalidToken:
        return seal(unseal(sealed))
    return sealed


def _boxes() -> MultiFernet:
    return MultiFernet([_box(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _box(secret_key: str) -> Fernet:
    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"onnx-hub mirror tokens")
    return Fernet(base64.urlsafe_b64encode(kdf.derive(secret_key.encode())))
