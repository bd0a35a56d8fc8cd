"""The hub's storage in an S3 bucket.

Keys: ``sha256/ab/cd/<hex>`` for blobs, ``staging/`` for uploads, ``xorbs/<chunk store>/<hash>``,
and ``trash/<hex>.<unique>``, which marks a blob whose bytes go when its row is gone for certain.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from hashlib import sha256 as new_sha256
from typing import TYPE_CHECKING

from hub.protocol import digests
from registry.storage.interface import BlobStore, Staged, missing
from registry.storage.s3 import staging
from registry.storage.s3.local_files import LocalFiles
from registry.storage.s3.reader import ObjectReader, open_object
from registry.storage.s3.senders import PartSenders

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from registry.storage.s3.bucket import Bucket

URL_SECONDS = 300
# Parts of what is stored without a length: 160 GB in 10,000 of them.
STAGE_BYTES = 16 * 2**20


class S3Store(BlobStore):
    """Blobs, uploads and xorbs in a bucket; files of this machine below ``root``."""

    has_files = False

    def __init__(self, bucket: Bucket, root: Path, *, cache_bytes: int, redirects: bool) -> None:
        """``cache_bytes`` is what the files for workers may take on this machine's disk."""
        super().__init__(root)
        self._bucket = bucket
        self._redirects = redirects
        self._scratch = root / "scratch"
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._local = LocalFiles(root / "blobs", cache_bytes, self.open)

    def open(self, sha256: str) -> io.BufferedReader:
        try:
            return open_object(self._bucket, _key(sha256))
        except FileNotFoundError as error:
            raise missing(sha256) from error

    def read(self, sha256: str, limit: int) -> bytes:
        try:
            return self._bucket.read(_key(sha256), limit)
        except FileNotFoundError as error:
            raise missing(sha256) from error

    def files(self) -> AbstractContextManager[Callable[[str], Path]]:
        return self._local.use()

    def download_url(self, sha256: str, headers: dict[str, str]) -> str | None:
        return self._bucket.sign(_key(sha256), headers, URL_SECONDS) if self._redirects else None

    def holds(self, sha256: str) -> bool:
        try:
            self._bucket.head(_key(sha256))
        except FileNotFoundError:
            return False
        return True

    def names(self, prefix: str = "") -> Iterator[str]:
        for row in self._bucket.objects(f"sha256/{prefix}"):
            yield row.key.rpartition("/")[2]

    def written_at(self, sha256: str) -> float:
        return self._bucket.head(_key(sha256)).written_at.timestamp()

    def is_current(self, sha256: str, reader: io.BufferedReader) -> bool:
        raw = reader.raw
        if not isinstance(raw, ObjectReader):
            raise TypeError("the reader is of another store")
        try:
            return self._bucket.head(_key(sha256)) == raw.head
        except FileNotFoundError:
            return False

    def prepare(self, name: str, sha256: str) -> None:
        """Copy the staged bytes to their digest, whether or not that is there."""
        self._bucket.copy(f"{staging.FOLDER}{name}", _key(sha256))

    def commit(self, name: str, sha256: str) -> None:
        if not self.holds(sha256):  # freed since they were copied
            self.prepare(name, sha256)
        staging.remove(self._bucket, name)

    def trash(self, sha256: str) -> None:
        """Mark the blob; its bytes stay until ``erase``, so that there is nothing to restore."""
        self._bucket.put(f"trash/{sha256}.{os.urandom(8).hex()}", b"")

    def trashed(self) -> list[tuple[str, str]]:
        names = [row.key.removeprefix("trash/") for row in self._bucket.objects("trash/")]
        return [(name, name.partition(".")[0]) for name in names]

    def restore(self, name: str, sha256: str) -> bool:
        return False

    def erase(self, sha256: str) -> None:
        self._bucket.delete([_key(sha256)])

    def purge(self, name: str) -> None:
        self._bucket.delete([f"trash/{name}"])

    def begin(self, name: str, length: int) -> None:
        staging.begin(self._bucket, name, length)

    @contextmanager
    def writer(self, name: str) -> Iterator[staging.StagedObject]:
        with self._locked(name), staging.StagedObject(self._bucket, name) as staged:
            yield staged

    @contextmanager
    def part(self, name: str, number: int, start: int) -> Iterator[io.BufferedRandom]:
        """Collected in a scratch file, and sent when it is whole."""
        path = self.scratch(f"{name}.{os.urandom(8).hex()}")
        try:
            with path.open("xb+") as file:
                yield file
                upload = staging.multipart(self._bucket, name)
                self._bucket.put_part(upload.key, upload.upload, number, file)
        finally:
            path.unlink(missing_ok=True)

    def join_parts(self, name: str) -> None:
        """Nothing: parts are joined when the upload is sealed."""

    def staged_size(self, name: str) -> int:
        with staging.StagedObject(self._bucket, name) as staged:
            return staged.size

    def staged_bytes(self, name: str) -> int:
        """None of them on this machine's disk."""
        return 0

    def hash_staged(self, name: str) -> str:
        with open_object(self._bucket, f"{staging.FOLDER}{name}") as reader:
            return digests.copy_and_hash(reader, None)[0]

    def stage(self, reader: digests.Reader) -> Staged:
        name = f"write-{os.urandom(16).hex()}/content"
        key = f"{staging.FOLDER}{name}"
        hasher, size = new_sha256(), 0
        upload = ""
        senders = PartSenders(self._bucket)
        try:
            while body := _fill(reader, STAGE_BYTES):
                hasher.update(body)
                size += len(body)
                if not upload and len(body) < STAGE_BYTES:
                    break
                upload = upload or self._bucket.begin_parts(key)
                senders.send(key, upload, body)
            if upload:
                senders.wait()
                self._bucket.complete(key, upload, senders.parts)
            else:
                self._bucket.put(key, body)
        except BaseException:
            senders.close()  # a part that came after the end would stay
            if upload:
                self._bucket.abort(key, upload)
            raise
        senders.close()
        return Staged(name, hasher.hexdigest(), size)

    def discard(self, name: str) -> None:
        staging.discard(self._bucket, name)
        for path in (self.scratch(name), self._lock_file(name)):
            path.unlink(missing_ok=True)

    def staged_before(self, time: float) -> Iterator[str]:
        newest: dict[str, float] = {}
        rows = [(row.key, row.written_at) for row in self._bucket.objects(staging.FOLDER)]
        rows += [(key, begun) for key, _, begun in self._bucket.unfinished(staging.FOLDER)]
        for key, written in rows:
            name = key.removeprefix(staging.FOLDER).partition("/")[0]
            newest[name] = max(newest.get(name, 0.0), written.timestamp())
        for path in self._scratch.iterdir():
            with suppress(FileNotFoundError):
                newest.setdefault(path.name, path.stat().st_mtime)
        yield from (name for name, written in newest.items() if written < time)

    def keep_xorb(self, file: Path, folder: str, xorb: str) -> None:
        with file.open("rb") as body:
            self._bucket.put(f"xorbs/{folder}/{xorb}", body)

    def open_xorb(self, folder: str, xorb: str) -> io.BufferedReader:
        return open_object(self._bucket, f"xorbs/{folder}/{xorb}")

    def drop_xorb(self, folder: str, xorb: str) -> None:
        self._bucket.delete([f"xorbs/{folder}/{xorb}"])

    def drop_xorbs(self, folder: str) -> None:
        self._bucket.delete([row.key for row in self._bucket.objects(f"xorbs/{folder}/")])

    def scratch(self, name: str) -> Path:
        return self._scratch / name

    def check(self) -> None:
        self._bucket.check()

    def free_bytes(self) -> int | None:
        return None

    def _lock_file(self, name: str) -> Path:
        return self._scratch / f"{name.partition('/')[0]}.lock"

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Hold an upload, against other requests of this machine."""
        with self._lock_file(name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _key(sha256: str) -> str:
    return f"sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def _fill(reader: digests.Reader, size: int) -> bytearray:
    """Read ``size`` bytes, or what there is up to the end."""
    buffer = bytearray(size)
    view, length = memoryview(buffer), 0
    while length < size and (count := reader.readinto(view[length:])):
        length += count
    view.release()
    del buffer[length:]
    return buffer
