"""Fernet boxes (AES-128-CBC with HMAC-SHA256) under keys that HKDF (RFC 5869) derives from secrets.

A copy of the database alone opens none of them.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def box(secret_key: str, purpose: bytes) -> Fernet:
    """What seals and opens texts of one purpose under a secret key."""
    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose)
    return Fernet(base64.urlsafe_b64encode(kdf.derive(secret_key.encode())))


def boxes(purpose: bytes) -> MultiFernet:
    """What opens texts that were sealed under the present or a former secret key of the hub."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([box(key, purpose) for key in keys])
