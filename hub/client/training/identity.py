"""The identity of a device in a training: its key, its token and its pseudonym.

One file for each training and device, in the user's configuration folder, with mode 0600.
"""

from __future__ import annotations

import hashlib
import json
import os
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
        content = json.loads(path.read_text("utf-8"))
        return Identity(
            bytes.fromhex(content["key"]),
            content["participant"],
            content["token"],
            content["training"],
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise problems.HubError(
            f"{path} cannot be read ({error}). Delete it and join the training again."
        ) from None


def keep(path: Path, identity: Identity) -> None:
    """Write an identity, readable by its owner alone."""
    config.write_secret(path, {**asdict(identity), "key": identity.key.hex()})


def key_of(source: bytes | str | os.PathLike[str]) -> bytes:
    """Give the 32 bytes of a private key: themselves, or from a file that holds just them."""
    content = source if isinstance(source, bytes) else Path(source).read_bytes()
    if len(content) != federated.KEY_BYTES:
        raise problems.InvalidRequest(
            f"A device key must have {federated.KEY_BYTES} bytes, not {len(content)}."
        )
    return content
