"""Blobs on disk, named by their SHA-256, and the answers that say which blobs a version is.

There are no locks. Each write goes to a name of its own, is synced, and is renamed to its
final name in one step, so any number of processes may share a cache and none sees half a file.

    blobs/<sha256>                 verified bytes, read-only, or a link to them in a snapshot
    verified/<sha256>.<inode>      what a file was when it was hashed (see verified.py)
    partial/<sha256>.<owner>       downloads under way or cut (see partial.py)
    answers/<hub>/<key>.json       answers of /resolve, with their ETag
    snapshots/<ns>/<model>/<n>-…   folders of whole versions (see snapshots.py)
    uploads/<hub>/<sha256>.json    uploads that can be continued
    pushes/<hub>/<key>.json        drafts that the same push continues
    signatures/<manifest>.json     signatures of versions (see signatures.py)
    pins/<key>.json                versions that are never pruned
    damaged/<sha256>               files that `hub cache verify` found damaged
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.client.config import ALWAYS, CHANGED, origin
from hub.client.verified_files import Verified
from hub.protocol import digests, problems, refs

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Cache of onnx-hub; safe to remove.\n"
_NOT_OURS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR}
)
_LASTING = frozenset({"published", "yanked"})


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a version: its path there, its size in bytes, its SHA-256 (hex) and its address."""

    path: str
    size: int
    sha256: str
    url: str

    @classmethod
    def from_json(cls, item: Any) -> RemoteFile:
        """Read a file of an answer; raise a `HubError`, KeyError, TypeError or ValueError.

        The path and the digest are checked, so that no answer can name a file outside its folder.
        """
        return cls(
            path=refs.check_path(item["path"]),
            size=_at_least(0, item["size"]),
            sha256=digests.parse(item["sha256"]),
            url=str(item["url"]),
        )


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a reference means: one version, one of its variants, and every file."""

    ref: refs.Ref
    number: int
    state: str
    manifest: str | None
    entry: str | None
    variant: str | None
    files: tuple[RemoteFile, ...]
    warning: str | None

    @property
    def is_lasting(self) -> bool:
        """Whether the files of this version can no longer change."""
        return self.state in _LASTING

    @classmethod
    def from_json(cls, answer: Any) -> Resolved:
        """Read an answer of /resolve; raise a `HubError` when a part of it is not acceptable.

        Paths and digests are checked here, so that no answer can name a file outside its folder.
        """
        try:
            variant = answer.get("variant") or {}
            manifest = answer.get("manifest_sha256")
            files = tuple(map(RemoteFile.from_json, answer["files"]))
            number = _at_least(1, answer["number"])
            return cls(
                ref=refs.Ref(
                    namespace=refs.check_name(answer["namespace"]),
                    model=refs.check_name(answer["model"]),
                    number=number,
                ),
                number=number,
                state=str(answer["state"]),
                manifest=digests.parse(manifest) if manifest else None,
                entry=variant.get("entry"),
                variant=variant.get("name"),
                files=files,
                warning=answer.get("warning"),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise problems.Unreachable(
                f"The hub's response is incomplete ({error!r}). Is HUB_URL the address of a model "
                "hub?"
            ) from None


def _at_least(least: int, value: Any) -> int:
    number = int(value)
    if number < least:
        raise ValueError(value)
    return number


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer kept from before: its JSON and the ETag that asks whether it still holds."""

    content: dict[str, Any]
    etag: str | None


class Cache:
    """One cache folder, and `shared` ones, which are only read.

    `records` is where those of verified files go, if not into the folder itself.
    """

    def __init__(
        self,
        folder: Path,
        *,
        verify: str = CHANGED,
        shared: Iterable[Path] = (),
        records: Path | None = None,
    ) -> None:
        self.folder = folder
        self.verified = Verified(folder / "verified", always=verify == ALWAYS, own=records)
        own = folder / "verified"
        self.shared = tuple(Cache(each, verify=verify, records=own) for each in shared)
        self.blobs = folder / "blobs"
        self.partial = folder / "partial"
        self.answers = folder / "answers"
        self.snapshots = folder / "snapshots"
        self.uploads = folder / "uploads"
        self.pushes = folder / "pushes"
        self.signatures = folder / "signatures"
        self.pins = folder / "pins"
        self.damaged = folder / "damaged"

    def blob_path(self, sha256: str) -> Path:
        """Return where the blob lies, or would lie."""
        return self.blobs / sha256

    def find(self, sha256: str, size: int) -> Path | None:
        """Return the blob's path, or `None` when the cache does not hold its bytes.

        A damaged blob stays until the file is fetched again.
        """
        for cache in (self, *self.shared):
            path = cache.blob_path(sha256)
            if cache.verified.holds(path, sha256, size):
                return path
        return None

    def refuse_damaged(self, name: str, files: Iterable[RemoteFile]) -> None:
        """Raise `NotCached` for the first of some missing files whose blob is damaged."""
        for file in files:
            if (path := self.blob_path(file.sha256)).exists():
                raise problems.NotCached(
                    f"The cached file {path} is damaged: it does not have the SHA-256 of "
                    f"{file.path} of {name}, and HUB_OFFLINE prevents downloading it "
                    "again. "
                    f"Run `HUB_OFFLINE=0 hub get {name}` while you are online."
                )

    def discard(self, sha256: str) -> None:
        """Remove a blob and what is remembered of it."""
        self.blob_path(sha256).unlink(missing_ok=True)
        self.verified.forget(sha256)

    def prepare(self, folder: Path) -> Path:
        """Make a folder of the cache; tell backup programs to leave the cache out."""
        with explained(self.folder):
            folder.mkdir(parents=True, exist_ok=True)
            tag = self.folder / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text(_TAG)
        return folder

    def take(self, file: Path, sha256: str) -> Path:
        """Rename a written, synced and verified file to its blob name; return that path."""
        target = self.blob_path(sha256)
        self.prepare(self.blobs)
        file.chmod(0o444)
        status = file.stat()
        file.replace(target)
        sync_folder(self.blobs)
        self.verified.remember(target, sha256, status)
        return target

    def put(self, content: bytes, sha256: str) -> Path:
        """Keep a small blob; raise `DigestMismatch` (and keep nothing) for other bytes."""
        if (digest := digests.hash_bytes(content)) != sha256:
            raise mismatch(sha256, digest)
        self.prepare(self.blobs)
        with self.scratch(self.prepare(self.partial), sha256) as path:
            with path.open("wb", buffering=0) as writer:
                writer.write(content)
                os.fsync(writer.fileno())
            return self.take(path, sha256)

    @contextlib.contextmanager
    def scratch(self, folder: Path, prefix: str) -> Iterator[Path]:
        """Give a new file of a unique name; remove it unless it was renamed."""
        with explained(self.folder):
            handle, name = tempfile.mkstemp(dir=folder, prefix=f"{prefix[:64]}.tmp-")
            os.close(handle)
            try:
                yield Path(name)
            finally:
                Path(name).unlink(missing_ok=True)

    def read_answer(self, url: str, question: tuple[str, ...]) -> StoredAnswer | None:
        """Return what was kept for a question to a hub; a damaged file counts as none."""
        for cache in (self, *self.shared):
            path = cache.answer_path(url, question)
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                record = json.loads(path.read_bytes())
                answer = StoredAnswer(content=dict(record["answer"]), etag=record.get("etag"))
                if cache is self:
                    with contextlib.suppress(OSError):  # a cache that is only read
                        os.utime(path)
                return answer
        return None

    def keep_answer(
        self, url: str, question: tuple[str, ...], content: dict[str, Any], etag: str | None
    ) -> None:
        """Keep an answer of the hub for the next conditional request and for offline use."""
        path = self.answer_path(url, question)
        self.write_json(path, {"answer": content, "etag": etag, "question": question, "hub": url})

    def write_json(self, path: Path, content: dict[str, Any]) -> None:
        """Write a small JSON file in one step."""
        with self.scratch(self.prepare(path.parent), path.stem) as file:
            file.write_text(json.dumps(content))
            file.replace(path)

    def upload_path(self, url: str, sha256: str) -> Path:
        """Return the file that remembers an upload to a hub."""
        return self.uploads / hub_key(url) / f"{sha256}.json"

    def push_path(self, url: str, key: str) -> Path:
        """Return the file that remembers an unfinished push to a hub."""
        return self.pushes / hub_key(url) / f"{key}.json"

    def signatures_path(self, manifest: str) -> Path:
        """Return the file that keeps the signatures of a version with this manifest."""
        return self.signatures / f"{manifest}.json"

    def answer_path(self, url: str, question: tuple[str, ...]) -> Path:
        """Return the file that keeps the answer to a question to a hub."""
        name = hashlib.sha256(json.dumps(question).encode()).hexdigest()
        return self.answers / hub_key(url) / f"{name}.json"


def hub_key(url: str) -> str:
    """Return a folder name for one hub: readable, and different for different origins."""
    scheme, host, port = origin(url)
    digest = hashlib.sha256(f"{scheme}://{host}:{port}|{url}".encode()).hexdigest()
    readable = "".join(char if char.isalnum() or char in ".-" else "_" for char in host)
    return f"{readable[:60]}-{digest[:12]}"


def mismatch(expected: str, actual: str) -> problems.DigestMismatch:
    """Make the error for bytes that are not what their name says."""
    return problems.DigestMismatch(
        f"The downloaded file has the digest sha256:{actual} instead of sha256:{expected} and was "
        "discarded. Try again; if the error persists, contact the operator of the hub.",
        expected=digests.format(expected),
        found=digests.format(actual),
    )


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut, where the system allows it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems refuse to sync a folder; the rename is done all the same.
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn the disk errors of a cache into ones that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise problems.CacheUnusable(
                f"The disk of the cache {folder} is full. `hub cache prune` frees some of it, "
                "or set HUB_CACHE to a folder on another disk."
            ) from None
        if error.errno in _NOT_OURS:
            raise problems.CacheUnusable(
                f"The cache {folder} cannot be written ({error.strerror}). "
                "Set HUB_CACHE to a folder that you can write to."
            ) from None
        raise
