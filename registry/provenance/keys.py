"""The key that signs heads and attestations: one in the database, sealed with the secret key.

So every machine of a hub signs with the same key, and a copy of the database alone signs nothing.
It is in the form of C2SP's signed notes, and is made when the log begins.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db.models import QuerySet

from hub.protocol.transparency.notes import ED25519, Signer, Verifier
from registry.core import sealing
from registry.provenance.models import SigningKey

_SEED_BYTES = 32
_PURPOSE = b"onnx-hub signing key of the log"


class KeyUnusableError(Exception):
    """The signing key cannot be used; the text names cause and cure."""


def origin() -> str:
    """The name of the log: the hub's address without its scheme, and `/log`."""
    public = urlsplit(settings.HUB_PUBLIC_URL)
    return f"{public.netloc}{public.path.rstrip('/')}/log"


def make(name: str) -> Signer:
    """A new key."""
    return Signer(name, ED25519, secrets.token_bytes(_SEED_BYTES))


def store(signer: Signer) -> None:
    """Keep a key, and no other."""
    SigningKey.objects.all().delete()
    SigningKey.objects.create(
        verifier=str(signer.verifier), sealed=sealing.seal(str(signer), _PURPOSE)
    )


def sealed() -> QuerySet[SigningKey, str]:
    """The one key, as `store` keeps it."""
    return SigningKey.objects.values_list("sealed", flat=True)[:1]


def opened(text: str | None, verifier: Verifier) -> Signer:
    """The private key of this public one, which the log names; raises KeyUnusableError."""
    try:
        signer = Signer.parse(sealing.unseal(text, _PURPOSE)) if text else None
    except InvalidToken as error:
        raise KeyUnusableError(
            "The signing key of the log is sealed with another secret key. Set HUB_SECRET_KEY to "
            "that one, or add it to HUB_SECRET_KEY_FALLBACKS."
        ) from error
    if signer is None or signer.verifier != verifier:
        raise KeyUnusableError(
            f"The database has no private key for {verifier}, the present key of the log. Restore "
            "the database from a backup."
        )
    return signer


def renew(signer: Signer) -> None:
    """Seal the key with the present secret key, if a former one did."""
    if not sealing.is_present(sealed().get(), _PURPOSE):
        store(signer)
