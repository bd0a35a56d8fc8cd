"""Looking after the cache: what it holds, what can go, and whether its bytes are still right.

Everything here works beside running downloads: what another process is busy with stays, and what
is removed too early is simply fetched again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hub.client import snapshots
from hub.client.cache import Resolved
from hub.client.partial_downloads import is_abandoned
from hub.protocol import digests, problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hub.client.cache import Cache

DAY_SECONDS = 86_400.0
SETTLING_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Holding:
    """A version in the cache: its bytes there, of how many, and when it was last used."""

    ref: str
    bytes_held: int
    bytes_total: int
    used_at: float


@dataclass(frozen=True, slots=True)
class Freed:
    """What a clean-up removed: files, and their bytes."""

    files: int
    bytes: int


def holdings(cache: Cache) -> list[Holding]:
    """Return every version of which the cache holds something, by reference."""
    by_ref: dict[str, Holding] = {}
    for path, resolved in _answers(cache):
        sizes = {file.sha256: file.size for file in resolved.files}
        present = sum(size for sha256, size in sizes.items() if cache.blob_path(sha256).exists())
        used = path.stat().st_mtime
        name = str(resolved.ref)
        if name in by_ref:
            used = max(used, by_ref[name].used_at)
        if present or not sizes:
            by_ref[name] = Holding(name, present, sum(sizes.values()), used)
    return [by_ref[name] for name in sorted(by_ref)]


def size(cache: Cache) -> int:
    """Return the bytes of all files of the cache; hard links count once."""
    sizes: dict[tuple[int, int], int] = {}
    for path in cache.folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def clean(cache: Cache, *, unused_days: float | None = None, everything: bool = False) -> Freed:
    """Remove what no version needs: cut downloads, blobs and folders that nothing refers to.

    `unused_days` also forgets versions that were not used for that long; `everything` empties the
    cache. What is younger than five minutes stays otherwise: a process may be about to use it.
    """
    before, count = size(cache), _count(cache)
    if everything:
        for folder in (
            cache.blobs,
            cache.partial,
            cache.answers,
            cache.snapshots,
            cache.uploads,
            cache.folder / "verified",
        ):
            shutil.rmtree(folder, ignore_errors=True)
        return Freed(count - _count(cache), before - size(cache))
    now = time.time()
    if unused_days is not None:
        for path, _ in list(_answers(cache)):
            if now - path.stat().st_mtime > unused_days * DAY_SECONDS:
                path.unlink(missing_ok=True)
    versions = [resolved for _, resolved in _answers(cache)]
    _clean_snapshots(cache, {snapshots.folder_of(cache, resolved) for resolved in versions})
    _clean_blobs(cache, {file.sha256 for resolved in versions for file in resolved.files})
    cache.verified.prune(_inodes(cache))
    for path in _files(cache.partial):
        is_left = is_abandoned(path) if "@" in path.name else _is_settled(path, now)
        if is_left:
            path.unlink(missing_ok=True)
    return Freed(count - _count(cache), before - size(cache))


def bytes_to_verify(cache: Cache) -> int:
    """Return the bytes that `verify` reads: those of every blob and every snapshot file."""
    snapshot_bytes = sum(
        size for receipt in snapshots.receipts(cache) for _, _, size in receipt.files
    )
    return snapshot_bytes + sum(path.stat().st_size for path in _files(cache.blobs))


def verify(
    cache: Cache, tell: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[Path, bool]]:
    """Hash every blob and every snapshot file; yield each path and whether it is right.

    What is wrong is removed, so that the next use fetches it again. `tell` is given the bytes of
    each that was read.
    """
    wrong: set[str] = set()
    for path in _files(cache.blobs):
        read = path.stat().st_size
        is_right = digests.is_hex(path.name) and digests.hash_file(path) == path.name
        if not is_right:
            wrong.add(path.name)
            path.unlink(missing_ok=True)
        tell(read)
        yield path, is_right
    for receipt in snapshots.receipts(cache):
        is_whole = True
        for name, sha256, size in receipt.files:
            path = receipt.folder / name
            if not path.exists():
                continue
            is_right = sha256 not in wrong and digests.hash_file(path) == sha256
            is_whole = is_whole and is_right
            tell(size)
            yield path, is_right
        if not is_whole:
            shutil.rmtree(receipt.folder, ignore_errors=True)


def _clean_snapshots(cache: Cache, needed: set[Path]) -> None:
    now = time.time()
    for receipt in snapshots.receipts(cache):
        if receipt.folder not in needed and now - receipt.used_at > SETTLING_SECONDS:
            shutil.rmtree(receipt.folder, ignore_errors=True)
            receipt.folder.with_name(f"{receipt.folder.name}.json").unlink(missing_ok=True)
    for folder in cache.snapshots.glob("*/*/.*"):
        if _is_settled(folder, now):
            shutil.rmtree(folder, ignore_errors=True)


def _clean_blobs(cache: Cache, needed: set[str]) -> None:
    now = time.time()
    for path in cache.blobs.glob("*"):
        is_dangling = path.is_symlink() and not path.exists()  # its folder is gone
        if is_dangling or (path.name not in needed and _is_settled(path, now)):
            path.unlink(missing_ok=True)


def _inodes(cache: Cache) -> set[int]:
    """The inodes of all blobs and of all files of snapshots."""
    inodes = set()
    for folder in (cache.blobs, cache.snapshots):
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                inodes.add(path.stat().st_ino)
    return inodes


def _answers(cache: Cache) -> Iterator[tuple[Path, Resolved]]:
    for path in sorted(cache.answers.glob("*/*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, problems.HubError):
            yield path, Resolved.from_json(json.loads(path.read_bytes())["answer"])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _is_settled(path: Path, now: float) -> bool:
    try:
        return now - path.stat().st_mtime > SETTLING_SECONDS
    except FileNotFoundError:
        return False


def _count(cache: Cache) -> int:
    return sum(1 for path in cache.folder.rglob("*") if path.is_file())
