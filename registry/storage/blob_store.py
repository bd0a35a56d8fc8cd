"""Blobs by their SHA-256, and the trash, on whatever stores bytes.

A store knows no rows: ``registry.storage.services.blobs`` changes rows and bytes together, under
the lock of the row. Keys: ``sha256/ab/cd/<hex>`` for blobs, and ``trash/<hex>.<unique>`` for what
is being freed. That is the blob itself where moving is quick, and else an empty mark.
"""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from hub.protocol import digests, problems
from registry.storage.byte_store import STAGING, ByteStore, Staged, Stat

_TRASH = "trash/"


class BlobStore(ByteStore):
    """Blobs by their SHA-256 in hex; those being freed lie in the trash until their row is gone."""

    def open(self, sha256: str) -> io.BufferedReader:
        """Open a blob for reading; raises Unavailable where storage has lost it."""
        try:
            return self.get(key_of(sha256))
        except FileNotFoundError as error:
            raise missing(sha256) from error

    def read(self, sha256: str, limit: int) -> bytes:
        """At most the first ``limit`` bytes of a blob; raises as ``open``."""
        try:
            return self.load(key_of(sha256), limit)
        except FileNotFoundError as error:
            raise missing(sha256) from error

    @abstractmethod
    def files(self) -> AbstractContextManager[Callable[[str], Path]]:
        """Gives the path of a blob's file on this machine, which stays until the block ends.

        The path ends in the SHA-256. The file may be missing where storage has lost the blob.
        """

    def download_url(self, sha256: str, headers: dict[str, str]) -> str | None:
        """An address from which anyone downloads a blob for a few minutes; None where none is made.

        ``headers`` are those of the hub's own response; the type and disposition apply there too.
        """
        return None

    def upload_url(self, name: str, sha256: str, size: int) -> str | None:
        """An address to which a client sends the whole content of a staged upload by one PUT.

        Storage takes no other content there. None where all content goes through the hub.
        """
        return None

    def find(self, sha256: str) -> Stat | None:
        """What the bytes of a blob are; None where they are not there."""
        try:
            return self.stat(key_of(sha256))
        except FileNotFoundError:
            return None

    def names(self, prefix: str = "") -> Iterator[str]:
        """Every SHA-256 that storage holds, those that begin with two hex digits or all, sorted."""
        for key in self.keys(f"sha256/{prefix}/" if prefix else "sha256/"):
            yield key.rpartition("/")[2]

    def hash_staged(self, name: str) -> str:
        """Read sealed bytes again; returns their SHA-256 in hex."""
        with self.get(f"{STAGING}{name}") as reader:
            return digests.copy_and_hash(reader, None)[0]

    def prepare(self, name: str, sha256: str) -> None:
        """Do for ``commit`` what takes long, without a lock."""
        self.prepare_move(f"{STAGING}{name}", key_of(sha256))

    def prepare_all(self, staged: Iterable[Staged]) -> None:
        """As ``prepare``, for several staged files."""
        self.prepare_moves(_moves(staged))

    def commit(self, name: str, sha256: str) -> None:
        """Turn the staged bytes ``name``, durable and hashed, into the blob ``sha256``.

        They were prepared; the caller holds the lock of the blob's row.
        """
        self.move(f"{STAGING}{name}", key_of(sha256))

    def commit_all(self, staged: Iterable[Staged]) -> None:
        """As ``commit``, for several staged files."""
        self.move_all(_moves(staged))

    def keep(self, staged: Staged) -> None:
        """Make staged bytes a blob of a store without rows."""
        self.prepare(staged.name, staged.sha256)
        self.commit(staged.name, staged.sha256)

    def trash(self, sha256: str) -> None:
        """Free the bytes of a blob, if they are there; quick, whatever their size.

        The caller holds the lock of their row.
        """
        key = f"{_TRASH}{sha256}.{os.urandom(8).hex()}"
        if not self.moves:
            self.put(key, io.BytesIO())
            return
        with suppress(FileNotFoundError):
            self.move(key_of(sha256), key)

    def trashed(self) -> list[tuple[str, str]]:
        """What lies in the trash: the name there, and the SHA-256 of the blob it was."""
        names = [key.removeprefix(_TRASH) for key in self.keys(_TRASH)]
        return [(name, name.partition(".")[0]) for name in names]

    def restore(self, name: str, sha256: str) -> bool:
        """Make trashed bytes the blob that they were; False where it has its bytes, or they went.

        The caller holds the lock of the blob's row.
        """
        if not self.moves or self.find(sha256):
            return False
        try:
            self.move(f"{_TRASH}{name}", key_of(sha256))
        except FileNotFoundError:
            return False
        return True

    def erase(self, sha256: str) -> None:
        """Delete what a trashed blob still has under its digest; quick, whatever its size.

        The caller holds the lock of its row, which names no bytes.
        """
        if not self.moves:
            self.delete([key_of(sha256)])

    def purge(self, name: str) -> None:
        """Delete trashed bytes permanently; large ones take long, so hold no lock meanwhile."""
        self.delete([f"{_TRASH}{name}"])


def _moves(staged: Iterable[Staged]) -> list[tuple[str, str]]:
    return [(f"{STAGING}{file.name}", key_of(file.sha256)) for file in staged]


def key_of(sha256: str) -> str:
    """The key of a blob."""
    return f"sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def missing(sha256: str) -> problems.Unavailable:
    """The problem of a blob that storage has lost."""
    return problems.Unavailable(
        f"The content of sha256:{sha256} is missing from storage. The operator can run "
        "`hub manage verify_blobs` for details."
    )
