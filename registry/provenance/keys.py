"""The key that signs heads and attestations: one file, the same on every machine of a hub.

It is in the form of C2SP's signed notes, is made when the log begins and never leaves the file.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from hub.protocol.transparency.notes import ED25519, NoteError, Signer

_SEED_BYTES = 32
_NEXT = ".next"


class KeyUnusableError(Exception):
    """The signing key cannot be used; the text names cause and cure."""


def path() -> Path:
    """Where the key lies."""
    return Path(settings.HUB_SIGNING_KEY_FILE)


def origin() -> str:
    """The name of the log: the hub's address without its scheme, and `/log`."""
    public = urlsplit(settings.HUB_PUBLIC_URL)
    return f"{public.netloc}{public.path.rstrip('/')}/log"


def make(name: str) -> Signer:
    """A new key."""
    return Signer(name, ED25519, secrets.token_bytes(_SEED_BYTES))


def create() -> Signer:
    """The key of a log that begins: that of the file, or a new one, written there."""
    if not path().exists():
        write(path(), make(origin()))
    return read(path())


def current(key: str) -> Signer:
    """The private key of this public one, which the log names; raises KeyUnusableError.

    A rotation that was interrupted after the log named the new key is ended here.
    """
    following = path().with_name(path().name + _NEXT)
    if following.exists() and str(read(following).verifier) == key:
        following.replace(path())
    signer = read(path())
    if str(signer.verifier) != key:
        raise KeyUnusableError(
            f"The key in {path()} is {signer.verifier}; the log's key is {key}. Give every machine "
            "the same file (HUB_SIGNING_KEY_FILE), or restore it from a backup."
        )
    return signer


def prepare_next(name: str) -> Signer:
    """A new key, written beside the present one, that `current` takes once the log names it."""
    signer = make(name)
    following = path().with_name(path().name + _NEXT)
    following.unlink(missing_ok=True)
    write(following, signer)
    return signer


def write(to: Path, signer: Signer) -> None:
    """Write a key for its owner alone, unless another process was quicker."""
    to.parent.mkdir(parents=True, exist_ok=True)
    draft = to.with_name(f"{to.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{signer}\n")
            file.flush()
            os.fsync(file.fileno())
        if not to.exists():
            os.link(draft, to)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def read(at: Path) -> Signer:
    """The key in a file; raises KeyUnusableError."""
    try:
        return Signer.parse(at.read_text().strip())
    except (OSError, NoteError) as error:
        raise KeyUnusableError(
            f"The signing key in {at} cannot be used ({error}). Restore it from a backup, or set "
            "HUB_SIGNING_KEY_FILE to where it lies."
        ) from error
