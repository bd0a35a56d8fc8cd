"""Where bytes lie: staged under a unique name, then renamed to their SHA-256, never rewritten.

Whatever was acknowledged has been synced to disk before: staged bytes before an offset is reported,
the rename before a blob row is committed. The store knows no locks:
``registry.storage.services.blobs`` changes rows and bytes together, under the lock of the row.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from django.conf import settings

from hub.protocol import digests, problems

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator


# What a staged upload's name ends in while its parts come in any order.
PARTS = ".parts"


@dataclass(frozen=True, slots=True)
class Staged:
    """Bytes that lie in staging, synced: the name there, their SHA-256 in hex, their size."""

    name: str
    sha256: str
    size: int


class BlobStore:
    """A folder of blobs (``sha256/ab/cd/<hex>``), of uploads (``staging/<name>``) and of xorbs.

    Xorbs are packs of chunks (``xorbs/<chunk store>/<hash>``), kept until files hold the chunks.
    Blobs that are being freed lie in ``trash/<hex>.<unique>``: out of reach at once, and removed
    when their row is gone for certain.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._staging = root / "staging"
        self._xorbs = root / "xorbs"
        self._trash = root / "trash"
        self._staging.mkdir(parents=True, exist_ok=True)

    def staged(self, name: str) -> Path:
        """The path of a staged file; it need not exist."""
        return self._staging / name

    def path(self, sha256: str) -> Path:
        """The path of a blob; it need not exist."""
        return self.root / "sha256" / sha256[:2] / sha256[2:4] / sha256

    def stage(self, reader: digests.Reader) -> Staged:
        """Stage what ``reader`` gives and sync it; raises StorageFull and then keeps nothing."""
        name = f"write-{os.urandom(16).hex()}"
        try:
            with self.staged(name).open("xb") as writer:
                sha256, size = digests.copy_and_hash(reader, writer)
                writer.flush()
                os.fsync(writer.fileno())
        except OSError as error:
            self.discard(name)
            raise full(error) from error
        return Staged(name, sha256, size)

    def prepare(self, sha256: str) -> None:
        """Make the folder of a blob, so that ``commit`` has little to do under a lock."""
        folder = self.path(sha256).parent
        folder.mkdir(parents=True, exist_ok=True)
        for changed in (folder.parent, folder.parent.parent, self.root):
            _sync_folder(changed)

    def commit(self, name: str, sha256: str) -> None:
        """Turn the staged file ``name``, already synced and hashed, into the blob ``sha256``.

        Its folder is there; the caller holds the lock of its row.
        """
        target = self.path(sha256)
        self.staged(name).replace(target)
        _sync_folder(target.parent)

    def holds(self, sha256: str) -> bool:
        """Whether the bytes of a blob are there."""
        return self.path(sha256).exists()

    def read(self, sha256: str, limit: int) -> bytes:
        """At most the first ``limit`` bytes of a blob."""
        with self.open(sha256) as reader:
            return reader.read(limit)

    def open(self, sha256: str) -> io.BufferedReader:
        """Open a blob for reading; raises Unavailable where storage has lost it."""
        try:
            # As ``path``, in a fifth of its time.
            return open(f"{self.root}/sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}", "rb")  # noqa: PTH123
        except FileNotFoundError as error:
            raise problems.Unavailable(
                f"The content of sha256:{sha256} is missing from storage. The operator can run "
                "`hub manage verify_blobs` for details."
            ) from error

    def expect_room(self, size: int) -> None:
        """Raise StorageFull where ``size`` more bytes would not leave the room that must stay.

        For bytes that were reserved before: other requests have been refused already.
        """
        if self.free_bytes() - size < settings.HUB_LIMITS_FREE_BYTES:
            raise full(OSError(errno.ENOSPC, "no room left"))

    def free_bytes(self) -> int:
        """Bytes that the disk has left."""
        return shutil.disk_usage(self.root).free

    def staged_bytes(self, name: str) -> int:
        """Bytes on the disk that a staged upload takes, whole or in parts; 0 where it is gone."""
        size = 0
        for path in (self.staged(name), self.staged(f"{name}{PARTS}")):
            with suppress(FileNotFoundError):
                size += path.stat().st_blocks * 512
        return size

    def discard(self, name: str) -> None:
        """Remove a staged file and the parts of it, if they are there."""
        for path in (self.staged(name), self.staged(f"{name}{PARTS}")):
            path.unlink(missing_ok=True)

    def trash(self, sha256: str) -> None:
        """Take the bytes of a blob out of reach, if they are there; quick, whatever their size.

        The caller holds the lock of their row.
        """
        self._trash.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            self.path(sha256).replace(self._trash / f"{sha256}.{os.urandom(8).hex()}")

    def trashed(self) -> list[tuple[str, str]]:
        """What lies in the trash: the name there, and the SHA-256 of the blob it was."""
        if not self._trash.exists():
            return []
        return [(path.name, path.name.partition(".")[0]) for path in self._trash.iterdir()]

    def restore(self, name: str, sha256: str) -> bool:
        """Make trashed bytes the blob that they were; False where it has its bytes, or they went.

        The caller holds the lock of the blob's row.
        """
        if self.holds(sha256):
            return False
        try:
            (self._trash / name).replace(self.path(sha256))
        except FileNotFoundError:
            return False
        return True

    def purge(self, name: str) -> None:
        """Delete trashed bytes permanently; large ones take long, so hold no lock meanwhile."""
        (self._trash / name).unlink(missing_ok=True)

    def names(self, prefix: str = "") -> Iterator[str]:
        """Every SHA-256 that storage holds, those that begin with two hex digits or all."""
        for path in sorted((self.root / "sha256").glob(f"{prefix or '??'}/??/*")):
            yield path.name

    def written_at(self, sha256: str) -> float:
        """When the bytes of a blob came to be there, in seconds since 1970."""
        state = self.path(sha256).stat()
        return max(state.st_mtime, state.st_ctime)

    def is_current(self, sha256: str, reader: io.BufferedReader) -> bool:
        """Whether a blob still has the bytes that were opened for reading before."""
        try:
            return os.path.samestat(os.fstat(reader.fileno()), self.path(sha256).stat())
        except FileNotFoundError:
            return False

    def keep_xorb(self, name: str, folder: str, xorb: str) -> None:
        """Keep the staged file ``name``, already synced and checked, as a xorb of a chunk store."""
        target = self._xorbs / folder / xorb
        target.parent.mkdir(parents=True, exist_ok=True)
        self.staged(name).replace(target)
        for changed in (target.parent, self._xorbs, self.root):
            _sync_folder(changed)

    def open_xorb(self, folder: str, xorb: str) -> io.BufferedReader:
        """Open a xorb for reading; raises FileNotFoundError."""
        return (self._xorbs / folder / xorb).open("rb")

    def drop_xorb(self, folder: str, xorb: str) -> None:
        """Remove a xorb, if it is there."""
        (self._xorbs / folder / xorb).unlink(missing_ok=True)

    def drop_xorbs(self, folder: str) -> None:
        """Remove every xorb of a chunk store."""
        shutil.rmtree(self._xorbs / folder, ignore_errors=True)

    def staged_names(self) -> Iterator[str]:
        """Every staged file's name."""
        for path in self._staging.iterdir():
            yield path.name


def full(error: OSError) -> Exception:
    """The problem that an error of the file system means to a caller."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return problems.StorageFull(
            "The hub's storage is full. Nothing was lost. Continue when the operator has freed "
            "space."
        )
    return error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _at(url: str) -> BlobStore:
    parts = urlsplit(url)
    if parts.scheme != "file":
        raise ValueError(f"HUB_STORAGE_URL {url!r} is not supported: use a file:// URL")
    return BlobStore(Path(unquote(parts.path)))


def store() -> BlobStore:
    """The store that the settings name."""
    return _at(settings.HUB_STORAGE_URL)
