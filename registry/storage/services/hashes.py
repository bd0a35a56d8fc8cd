"""Hashes of uploads in progress: a shortcut for the last request of an upload.

Only what one process has received is hashed here; all else is read again from staging.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256 as new_sha256
from threading import Lock
from typing import Any

from registry.storage.byte_store import StagedWriter


class Hashes:
    """Hashes of uploads in progress, so that the last byte need not wait for a second reading.

    Only a shortcut: a hash is used when it has seen exactly the bytes that lie in staging, which
    another process may have replaced by as many others since.
    """

    LIMIT = 256

    def __init__(self) -> None:
        self._entries: OrderedDict[str, tuple[int, str, Any]] = OrderedDict()
        self._lock = Lock()

    def take(self, name: str, staged: StagedWriter) -> Any:
        """The hash of exactly what is staged under a name; None where this process has none."""
        with self._lock:
            entry = self._entries.pop(name, None)
        if entry and entry[:2] == (staged.size, staged.identity):
            return entry[2]
        return new_sha256() if staged.size == 0 else None

    def keep(self, name: str, staged: StagedWriter, hasher: Any) -> None:
        """Store the hash of what is staged for the next request."""
        with self._lock:
            self._entries[name] = (staged.size, staged.identity, hasher)
            while len(self._entries) > self.LIMIT:
                self._entries.popitem(last=False)
