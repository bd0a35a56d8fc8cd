"""Files with secrets of this hub, which backups keep and restore with it."""

from __future__ import annotations

import typing
from collections.abc import Callable
from pathlib import Path

from hub.protocol.ports import Port


class SecretFile(typing.NamedTuple):
    """A file that only its owner reads: its name in a backup, and what says where it lies."""

    name: str
    path: Callable[[], Path]


secret_files = Port(SecretFile)
