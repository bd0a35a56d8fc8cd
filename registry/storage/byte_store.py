"""Bytes under keys, and uploads on their way there; a folder (``folder``) and a bucket (``s3``).

Whatever was acknowledged is durable before: staged bytes before an offset is reported, others when
they have their key. An object is never rewritten, and appears whole or not at all.
"""

from __future__ import annotations

import errno
import io
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings

from hub.protocol import digests, problems

# Below it lie the bytes that are staged, each under its name.
STAGING = "staging/"


@dataclass(frozen=True, slots=True)
class Staged:
    """Bytes that lie in staging, durable: the name there, their SHA-256 in hex, their size."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Stat:
    """An object's size in bytes, when it was written (seconds since 1970), and a tag.

    Other bytes under the same key have another tag, or were written at another time.
    """

    size: int
    written_at: float
    tag: str


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


class ByteStore(ABC):
    """Objects by their keys, such as ``xorbs/1/ab``, and staged uploads by their names.

    Every method raises Unavailable where storage does not respond.
    """

    # Whether blobs are files of this machine, which the kernel can send by itself.
    has_files = True
    # Whether moving an object is quick, whatever its size.
    moves = True

    def __init__(self, root: Path) -> None:
        """``root`` is a folder of this machine, for what can be made again."""
        self.root = root

    # Objects

    @abstractmethod
    def get(self, key: str) -> io.BufferedReader:
        """Open an object for reading; raises FileNotFoundError."""

    def load(self, key: str, limit: int | None = None) -> bytes:
        """An object's bytes, or at most the first ``limit``; raises FileNotFoundError."""
        with self.get(key) as reader:
            return reader.read(limit)

    @abstractmethod
    def stat(self, key: str) -> Stat:
        """What an object is; raises FileNotFoundError."""

    @abstractmethod
    def keys(self, folder: str) -> Iterator[str]:
        """The keys that begin with ``folder``, which ends in a slash, sorted."""

    @abstractmethod
    def put(self, key: str, content: IO[bytes]) -> None:
        """Write an object; raises StorageFull and then leaves the one that was there."""

    @abstractmethod
    def prepare_move(self, source: str, target: str) -> None:
        """Do for ``move`` what takes long, without a lock."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Give an object another key, in place of the object there; raises FileNotFoundError.

        What was staged is prepared first, and with it goes all else of its upload.
        """

    def prepare_moves(self, moves: Sequence[tuple[str, str]]) -> None:
        """As ``prepare_move``, for several pairs of a key and another."""
        for source, target in moves:
            self.prepare_move(source, target)

    def move_all(self, moves: Sequence[tuple[str, str]]) -> None:
        """As ``move``, for several pairs; after an error some are done."""
        for source, target in moves:
            self.move(source, target)

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, those that are there."""

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
    def part(self, name: str, number: int, start: int) -> AbstractContextManager[IO[bytes]]:
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
    def stage(self, reader: digests.Reader) -> Staged:
        """Stage what ``reader`` gives, durable; raises StorageFull and then keeps nothing."""

    @abstractmethod
    def discard(self, name: str) -> None:
        """Remove what is staged under a name, if it is there."""

    @abstractmethod
    def staged_before(self, time: float) -> Iterator[str]:
        """Names under which nothing was staged since ``time``, in seconds since 1970."""

    # The place itself

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


def size_of(reader: io.BufferedReader) -> int:
    """The size in bytes of what was opened; moves to its end."""
    return reader.seek(0, io.SEEK_END)
