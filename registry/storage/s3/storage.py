"""The hub's storage in an S3 bucket: keys of objects are those of the store, staged ones included.

Moving would copy, so a blob's trash is a mark; its bytes go when its row is gone for certain.
"""

from __future__ import annotations

import fcntl
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import sha256 as new_sha256
from pathlib import Path
from typing import IO

from hub.protocol import digests
from registry.storage.blob_store import BlobStore, key_of
from registry.storage.byte_store import STAGING, Staged, Stat
from registry.storage.s3 import staging
from registry.storage.s3.bucket import Bucket
from registry.storage.s3.local_files import LocalFiles
from registry.storage.s3.reader import open_object
from registry.storage.s3.senders import PartSenders

URL_SECONDS = 300
# Content that clients send to the bucket: the least and the most bytes (S3's limit of one PUT), and
# how long its address is valid.
DIRECT_BYTES, MOST_DIRECT_BYTES, DIRECT_SECONDS = 8 * 2**20, 5 * 2**30, 3600
# Parts of what is stored without a length: 160 GB in 10,000 of them.
STAGE_BYTES = 16 * 2**20


class S3Store(BlobStore):
    """Objects in a bucket; files of this machine below ``root``."""

    has_files = False
    moves = False

    def __init__(
        self,
        bucket: Bucket,
        root: Path,
        *,
        cache_bytes: int,
        redirects: bool,
        direct_uploads: bool = False,
    ) -> None:
        """``cache_bytes`` is what the files for workers may take on this machine's disk.

        ``redirects`` and ``direct_uploads`` say that clients reach the bucket.
        """
        super().__init__(root)
        self._bucket = bucket
        self._redirects = redirects
        self._direct_uploads = direct_uploads
        self._locks = root / "scratch"
        self._locks.mkdir(parents=True, exist_ok=True)
        self._local = LocalFiles(root / "blobs", cache_bytes, self.open)

    def files(self) -> AbstractContextManager[Callable[[str], Path]]:
        return self._local.use()

    def download_url(self, sha256: str, headers: dict[str, str]) -> str | None:
        return self._bucket.sign(key_of(sha256), headers, URL_SECONDS) if self._redirects else None

    def get(self, key: str) -> io.BufferedReader:
        return open_object(self._bucket, key)

    def load(self, key: str, limit: int | None = None) -> bytes:
        return self._bucket.read(key, limit)

    def stat(self, key: str) -> Stat:
        return self._bucket.head(key)

    def keys(self, folder: str) -> Iterator[str]:
        for row in self._bucket.objects(folder):
            yield row.key

    def put(self, key: str, content: IO[bytes]) -> None:
        self._bucket.put(key, content)

    def prepare_move(self, source: str, target: str) -> None:
        """Copy the object, whether or not there is one with the other key."""
        self._bucket.copy(source, target)

    def move(self, source: str, target: str) -> None:
        try:
            self._bucket.head(target)
        except FileNotFoundError:  # freed since it was copied
            self._bucket.copy(source, target)
        staging.remove(self._bucket, source.removeprefix(STAGING))

    def delete(self, keys: Iterable[str]) -> None:
        self._bucket.delete(keys)

    def begin(self, name: str, length: int) -> None:
        staging.begin(self._bucket, name, length)

    @contextmanager
    def writer(self, name: str) -> Iterator[staging.StagedObject]:
        with self._locked(name), staging.StagedObject(self._bucket, name) as staged:
            yield staged

    @contextmanager
    def part(self, name: str, number: int, start: int) -> Iterator[IO[bytes]]:
        """Collected in a file of this machine, and sent when it is whole."""
        with tempfile.TemporaryFile(dir=self._locks) as file:
            yield file
            upload = staging.multipart(self._bucket, name)
            self._bucket.put_part(upload.key, upload.upload, number, file)

    def join_parts(self, name: str) -> None:
        """Nothing: parts are joined when the upload is sealed."""

    def staged_size(self, name: str) -> int:
        with staging.StagedObject(self._bucket, name) as staged:
            return staged.size

    def staged_bytes(self, name: str) -> int:
        """None of them on this machine's disk."""
        return 0

    def upload_url(self, name: str, sha256: str, size: int) -> str | None:
        if not (self._takes_uploads and DIRECT_BYTES <= size <= MOST_DIRECT_BYTES):
            return None
        key = staging.checked_key(name, sha256)
        return self._bucket.sign_upload(key, sha256, size, DIRECT_SECONDS)

    @cached_property
    def _takes_uploads(self) -> bool:
        """Whether clients may send content to the bucket; tried once in each process."""
        key = f"{STAGING}trial-{os.urandom(16).hex()}/content"
        return self._direct_uploads and self._bucket.checks_content(key)

    def hash_staged(self, name: str) -> str:
        return staging.checked_digest(name) or super().hash_staged(name)

    def stage(self, reader: digests.Reader) -> Staged:
        name = f"write-{os.urandom(16).hex()}/content"
        key = f"{STAGING}{name}"
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
        self._lock_file(name).unlink(missing_ok=True)

    def staged_before(self, time: float) -> Iterator[str]:
        newest: dict[str, float] = {}
        rows = [(row.key, row.written_at) for row in self._bucket.objects(STAGING)]
        rows += [(key, begun) for key, _, begun in self._bucket.unfinished(STAGING)]
        for key, written in rows:
            name = key.split("/")[1]
            newest[name] = max(newest.get(name, 0.0), written)
        for path in self._locks.iterdir():
            with suppress(FileNotFoundError):
                newest.setdefault(path.stem, path.stat().st_mtime)
        yield from (name for name, written in newest.items() if written < time)

    def check(self) -> None:
        self._bucket.check()

    def free_bytes(self) -> int | None:
        return None

    def _lock_file(self, name: str) -> Path:
        return self._locks / f"{name.partition('/')[0]}.lock"

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Hold an upload, against other requests of this machine."""
        with self._lock_file(name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _fill(reader: digests.Reader, size: int) -> bytearray:
    """Read ``size`` bytes, or what there is up to the end."""
    buffer = bytearray(size)
    view, length = memoryview(buffer), 0
    while length < size and (count := reader.readinto(view[length:])):
        length += count
    view.release()
    del buffer[length:]
    return buffer
