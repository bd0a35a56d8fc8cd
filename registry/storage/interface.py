"""What stores bytes: one interface, with a folder (``folder``) and an S3 bucket (``s3``) behind it.

Whatever was acknowledged is durable before: staged bytes before an offset is reported, a blob
before its row is committed. Blobs are named by their SHA-256 and appear whole or not at all. A
store knows no rows: ``registry.storage.services.blobs`` changes rows and bytes together, under the
lock of the row.
"""

from __future__ import annotations

import errno
import io
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from django.conf import settings

from hub.protocol import problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hub.protocol import digests


@dataclass(frozen=True, slots=True)
class Staged:
    """Bytes that lie in staging, durable: the name there, their SHA-256 in hex, their size."""

    name: str
    sha256: str
    size: int


class StagedWriter(Protocol):
    """The end of a staged upload, held by one request of this machine."""

    @property
    def size(self) -> int:
        """Bytes staged so far, with those that were written here."""

    @property
    def identity(self) -> str:
        """Names the bytes that were durable at the last ``sync``: others have another identity."""

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""

    def cut(self, size: int) -> None:
        """Discard bytes beyond ``size``; a store that cannot do so exactly discards more."""

    def sync(self) -> int:
        """Make durable what was written; returns how many bytes are staged now."""

    def seal(self) -> str:
        """A name of exactly the staged bytes, for `hash_staged`, `prepare` and `commit`."""


class BlobStore(ABC):
    """Blobs, staged uploads, xorbs, and a folder on this machine.

    Xorbs are packs of chunks, kept until files hold the chunks. Blobs that are being freed lie in
    the trash, and are removed when their row is gone for certain.

    Every method raises Unavailable where storage does not respond.
    """

    # Whether ``open`` gives files of this machine, which the kernel can send by itself.
    has_files = True

    def __init__(self, root: Path) -> None:
        """``root`` is a folder of this machine, for what can be made again."""
        self.root = root

    # Blobs

    @abstractmethod
    def open(self, sha256: str) -> io.BufferedReader:
        """Open a blob for reading; raises Unavailable where storage has lost it."""

    @abstractmethod
    def read(self, sha256: str, limit: int) -> bytes:
        """At most the first ``limit`` bytes of a blob; raises as ``open``."""

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

    @abstractmethod
    def holds(self, sha256: str) -> bool:
        """Whether the bytes of a blob are there."""

    @abstractmethod
    def names(self, prefix: str = "") -> Iterator[str]:
        """Every SHA-256 that storage holds, those that begin with two hex digits or all, sorted."""

    @abstractmethod
    def written_at(self, sha256: str) -> float:
        """When the bytes of a blob came to be there, in seconds since 1970."""

    @abstractmethod
    def is_current(self, sha256: str, reader: io.BufferedReader) -> bool:
        """Whether a blob still has the bytes that were opened for reading before."""

    @abstractmethod
    def prepare(self, name: str, sha256: str) -> None:
        """Do for ``commit`` what takes long, without a lock."""

    @abstractmethod
    def commit(self, name: str, sha256: str) -> None:
        """Turn the staged bytes ``name``, durable and hashed, into the blob ``sha256``.

        They were prepared; the caller holds the lock of the blob's row.
        """

    # Trash

    @abstractmethod
    def trash(self, sha256: str) -> None:
        """Free the bytes of a blob, if they are there; quick, whatever their size.

        The caller holds the lock of their row.
        """

    @abstractmethod
    def trashed(self) -> list[tuple[str, str]]:
        """What lies in the trash: the name there, and the SHA-256 of the blob it was."""

    @abstractmethod
    def restore(self, name: str, sha256: str) -> bool:
        """Make trashed bytes the blob that they were; False where it has its bytes, or they went.

        The caller holds the lock of the blob's row.
        """

    @abstractmethod
    def erase(self, sha256: str) -> None:
        """Delete what a trashed blob still has under its digest; quick, whatever its size.

        The caller holds the lock of its row, which names no bytes.
        """

    @abstractmethod
    def purge(self, name: str) -> None:
        """Delete trashed bytes permanently; large ones take long, so hold no lock meanwhile."""

    # Staging

    @abstractmethod
    def begin(self, name: str, length: int) -> None:
        """Stage an upload of ``length`` bytes that has none yet."""

    @abstractmethod
    def writer(self, name: str) -> AbstractContextManager[StagedWriter]:
        """The end of a staged upload.

        Raises BlockingIOError where another request of this machine holds it, FileNotFoundError.
        """

    @abstractmethod
    def part(self, name: str, number: int, start: int) -> AbstractContextManager[io.BufferedRandom]:
        """Takes part ``number`` (from 1) of a staged upload, which begins at byte ``start``.

        The part is durable when the block ends; one whose block raises does not count.
        """

    @abstractmethod
    def join_parts(self, name: str) -> None:
        """Make the parts that came the staged bytes; harmless where they were joined before."""

    @abstractmethod
    def staged_size(self, name: str) -> int:
        """How many bytes of an upload are staged; raises FileNotFoundError."""

    @abstractmethod
    def staged_bytes(self, name: str) -> int:
        """Bytes on the disk that a staged upload takes, whole or in parts; 0 where it is gone."""

    @abstractmethod
    def hash_staged(self, name: str) -> str:
        """Read sealed bytes again; returns their SHA-256 in hex."""

    @abstractmethod
    def stage(self, reader: digests.Reader) -> Staged:
        """Stage what ``reader`` gives, durable; raises StorageFull and then keeps nothing."""

    @abstractmethod
    def discard(self, name: str) -> None:
        """Remove what is staged under a name, if it is there."""

    @abstractmethod
    def staged_before(self, time: float) -> Iterator[str]:
        """Names under which nothing was staged since ``time``, in seconds since 1970."""

    # Xorbs

    @abstractmethod
    def keep_xorb(self, file: Path, folder: str, xorb: str) -> None:
        """Keep a ``scratch`` file, already synced and checked, as a xorb of a chunk store."""

    @abstractmethod
    def open_xorb(self, folder: str, xorb: str) -> io.BufferedReader:
        """Open a xorb for reading; raises FileNotFoundError."""

    @abstractmethod
    def drop_xorb(self, folder: str, xorb: str) -> None:
        """Remove a xorb, if it is there."""

    @abstractmethod
    def drop_xorbs(self, folder: str) -> None:
        """Remove every xorb of a chunk store."""

    # This machine

    @abstractmethod
    def scratch(self, name: str) -> Path:
        """The path of a file for one request, which discards it by that name; need not exist."""

    @abstractmethod
    def check(self) -> None:
        """Raise Unavailable or OSError where storage does not respond."""

    def free_bytes(self) -> int | None:
        """Bytes that storage has left; None where it has no limit of its own."""
        return shutil.disk_usage(self.root).free

    def expect_room(self, size: int) -> None:
        """Raise StorageFull where ``size`` more bytes would not leave the room that must stay.

        For bytes that were reserved before: other requests have been refused already.
        """
        free = self.free_bytes()
        if free is not None and free - size < settings.HUB_LIMITS_FREE_BYTES:
            raise full(OSError(errno.ENOSPC, "no room left"))


def full(error: OSError) -> Exception:
    """The problem that an error of the file system means to a caller."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return problems.StorageFull(
            "The hub's storage is full. Nothing was lost. Continue when the operator has freed "
            "space."
        )
    return error


def missing(sha256: str) -> problems.Unavailable:
    """The problem of a blob that storage has lost."""
    return problems.Unavailable(
        f"The content of sha256:{sha256} is missing from storage. The operator can run "
        "`hub manage verify_blobs` for details."
    )


def size_of(reader: io.BufferedReader) -> int:
    """The size in bytes of what was opened; moves to its end."""
    return reader.seek(0, io.SEEK_END)
