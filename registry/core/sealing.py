"""Fernet boxes (AES-128-CBC with HMAC-SHA256) under keys that HKDF (RFC 5869) derives from secrets.

A copy of the database alone opens none of them.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def _box(secret_key: str, purpose: bytes) -> Fernet:
    """What seals and opens texts of one purpose under a secret key."""
    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose)
    return Fernet(base64.urlsafe_b64encode(kdf.derive(secret_key.encode())))


def seal(text: str, purpose: bytes) -> str:
    """A text as the database keeps it, sealed under the present secret key."""
    return _box(settings.SECRET_KEY, purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: bytes) -> str:
    """The text; raises InvalidToken where neither the present nor a former secret key opens it."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_box(key, purpose) for key in keys]).decrypt(sealed.encode()).decode()


def is_present(sealed: str, purpose: bytes) -> bool:
    """Whether the present secret key opens it."""
    try:
        _box(settings.SECRET_KEY, purpose).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True
