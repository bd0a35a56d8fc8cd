"""Who a device is in a training: its key, its token and its pseudonym, for its eyes alone.

One file for each training and device, in the user's configuration folder, with mode 0600.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hub.client import config
from hub.protocol import federated, problems


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key, and what the hub gave when the device joined."""

    key: bytes = field(repr=False)
    participant: str = ""
    token: str = field(default="", repr=False)
    training: str = ""

    @property
    def has_joined(self) -> bool:
        return bool(self.token)


def path_of(url: str, ref: str, device: str) -> Path:
    """Where the identity of a device in a training lies."""
    name = hashlib.sha256(f"{url}\n{ref.lower()}\n{device}".encode()).hexdigest()[:32]
    return config.stored_path().parent / "trainings" / f"{name}.json"


def read(path: Path) -> Identity | None:
    """Read a kept identity; a damaged file raises `HubError`."""
    try:
        said = json.loads(path.read_text("utf-8"))
        return Identity(
            bytes.fromhex(said["key"]), said["participant"], said["token"], said["training"]
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise problems.HubError(
            f"{path} cannot be read ({error}). Delete it and join the training again."
        ) from error


def keep(path: Path, identity: Identity) -> None:
    """Write an identity, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp makes the file with mode 0600, so the key is at no moment readable by others.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".training-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writer:
            json.dump({**asdict(identity), "key": identity.key.hex()}, writer, indent=1)
            writer.flush()
            os.fsync(writer.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def key_of(given: bytes | str | os.PathLike[str]) -> bytes:
    """Give the 32 bytes of a private key: themselves, or from a file that holds just them."""
    content = given if isinstance(given, bytes) else Path(given).read_bytes()
    if len(content) != federated.KEY_BYTES:
        raise problems.InvalidRequest(
            f"A device key must have {federated.KEY_BYTES} bytes, not {len(content)}."
        )
    return content
