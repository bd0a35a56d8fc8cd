"""Looking after the cache: what it holds, what can go, and whether its bytes are still right.

Everything here works beside running downloads: what another process is busy with stays, and what
is removed too early is simply fetched again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hub.client import snapshots
from hub.client.cache import Cache, Resolved
from hub.client.partial_downloads import is_abandoned
from hub.protocol import digests, problems, refs

DAY_SECONDS = 86_400.0
SETTLING_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Holding:
    """A version in the cache: its bytes there, of how many, and when it was last used."""

    ref: str
    bytes_held: int
    bytes_total: int
    used_at: float
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class Freed:
    """What a clean-up removed: files, and their bytes."""

    files: int
    bytes: int


def holdings(cache: Cache) -> list[Holding]:
    """Return every version of which the cache holds something, by reference."""
    names = pinned(cache)
    by_ref: dict[str, Holding] = {}
    for path, resolved in [row for each in (cache, *cache.shared) for row in _answers(each)]:
        sizes = {file.sha256: file.size for file in resolved.files}
        present = sum(size for sha256, size in sizes.items() if _has(cache, sha256))
        used = path.stat().st_mtime
        name = str(resolved.ref)
        if name in by_ref:
            used = max(used, by_ref[name].used_at)
        if present or not sizes:
            total = sum(sizes.values())
            by_ref[name] = Holding(name, present, total, used, name in names)
    return [by_ref[name] for name in sorted(by_ref)]


def _has(cache: Cache, sha256: str) -> bool:
    return any(each.blob_path(sha256).exists() for each in (cache, *cache.shared))


def size(cache: Cache) -> int:
    """Return the bytes of all files of the cache; hard links count once."""
    sizes: dict[tuple[int, int], int] = {}
    for path in cache.folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def prune(
    cache: Cache,
    *,
    unused_days: float | None = None,
    most_bytes: int | None = None,
    everything: bool = False,
) -> Freed:
    """Remove what no version needs: cut downloads, blobs and folders that nothing refers to.

    `unused_days` also forgets versions that were not used for that long, `most_bytes` those that
    were unused longest until the files of the others take no more; `everything` forgets all. Pinned
    versions stay. What is younger than five minutes stays unless `everything` goes: a process may
    be about to use it.
    """
    before, count = size(cache), _count(cache)
    now = time.time()
    settling_seconds = 0.0 if everything else SETTLING_SECONDS
    for path in _forgotten(cache, now, 0.0 if everything else unused_days, most_bytes):
        path.unlink(missing_ok=True)
    if everything:
        for folder in (cache.partial, cache.uploads, cache.pushes, cache.damaged):
            shutil.rmtree(folder, ignore_errors=True)
    versions = [resolved for _, resolved in _answers(cache)]
    needed = {snapshots.folder_of(cache, resolved) for resolved in versions}
    _clean_snapshots(cache, needed, now - settling_seconds)
    manifests = {resolved.manifest for resolved in versions}
    for path in _files(cache.signatures):
        if path.stem not in manifests:
            path.unlink(missing_ok=True)
    blobs = {file.sha256 for resolved in versions for file in resolved.files}
    _clean_blobs(cache, blobs, now - settling_seconds)
    cache.verified.prune(_inodes(cache))
    for path in [*_files(cache.partial), *_files(cache.damaged)]:
        is_old = _is_older(path, now - settling_seconds)
        if is_abandoned(path) if "@" in path.name else is_old:
            path.unlink(missing_ok=True)
    return Freed(count - _count(cache), before - size(cache))


def _forgotten(
    cache: Cache, now: float, unused_days: float | None, most_bytes: int | None
) -> list[Path]:
    """The answers to forget: the least recently used beyond a number of bytes or an age."""
    names = pinned(cache)
    # Pinned versions first, then the most recently used.
    rows = sorted(
        (
            (str(resolved.ref) in names, path.stat().st_mtime, path, resolved)
            for path, resolved in _answers(cache)
        ),
        key=lambda row: row[:2],
        reverse=True,
    )
    sizes: dict[str, int] = {}
    paths = []
    for is_pinned, used_at, path, resolved in rows:
        more = {file.sha256: file.size for file in resolved.files}
        total = sum((sizes | more).values())
        is_old = unused_days is not None and now - used_at > unused_days * DAY_SECONDS
        is_beyond = most_bytes is not None and total > most_bytes
        if not is_pinned and (is_old or is_beyond):
            paths.append(path)
        else:
            sizes |= more
    return paths


def pinned(cache: Cache) -> set[str]:
    """Return the references of the versions that are never pruned."""
    names = set()
    for path in _files(cache.pins):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            names.add(str(json.loads(path.read_bytes())["ref"]))
    return names


def pin(cache: Cache, ref: str) -> None:
    """Keep a cached version from pruning.

    Raise `InvalidReference` for a reference without a number, `NotCached` where the cache does not
    hold all its files.
    """
    path, name = _pin_path(cache, ref)
    held = {holding.ref: holding for holding in holdings(cache)}.get(name)
    if held is None or held.bytes_held < held.bytes_total:
        raise problems.NotCached(f"{name} is not in the cache. Run `hub get {name}` first.")
    cache.write_json(path, {"ref": name})


def unpin(cache: Cache, ref: str) -> bool:
    """Let a version be pruned again; return whether it was pinned."""
    path, _ = _pin_path(cache, ref)
    is_pinned = path.exists()
    path.unlink(missing_ok=True)
    return is_pinned


def _pin_path(cache: Cache, ref: str) -> tuple[Path, str]:
    parsed = refs.parse(ref)
    if parsed.number is None or parsed.variant is not None:
        raise problems.InvalidReference(
            f"{ref!r} does not name one version. Pin a number, such as {parsed.name}@3; "
            "`hub cache list` lists them."
        )
    name = str(parsed)
    return cache.pins / f"{digests.hash_bytes(name.encode())}.json", name


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

    A wrong blob is moved to `damaged`, and a folder with a wrong file is removed, so that the next
    use fetches them again. `tell` is given the bytes of each that was read.
    """
    wrong: set[str] = set()
    for path in _files(cache.blobs):
        read = path.stat().st_size
        is_right = digests.is_hex(path.name) and digests.hash_file(path) == path.name
        if not is_right:
            wrong.add(path.name)
            path.replace(cache.prepare(cache.damaged) / path.name)
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


def _clean_snapshots(cache: Cache, needed: set[Path], before: float) -> None:
    for receipt in snapshots.receipts(cache):
        if receipt.folder not in needed and receipt.used_at < before:
            shutil.rmtree(receipt.folder, ignore_errors=True)
            receipt.folder.with_name(f"{receipt.folder.name}.json").unlink(missing_ok=True)
    for folder in cache.snapshots.glob("*/*/.*"):
        if _is_older(folder, before):
            shutil.rmtree(folder, ignore_errors=True)


def _clean_blobs(cache: Cache, needed: set[str], before: float) -> None:
    for path in cache.blobs.glob("*"):
        is_dangling = path.is_symlink() and not path.exists()  # its folder is gone
        if is_dangling or (path.name not in needed and _is_older(path, before)):
            path.unlink(missing_ok=True)


def _inodes(cache: Cache) -> set[int]:
    """The inodes of all blobs and of all files of snapshots, those of shared caches too."""
    inodes = set()
    for each in (cache, *cache.shared):
        for path in [*each.blobs.rglob("*"), *each.snapshots.rglob("*")]:
            with contextlib.suppress(FileNotFoundError):
                inodes.add(path.stat().st_ino)
    return inodes


def _answers(cache: Cache) -> Iterator[tuple[Path, Resolved]]:
    for path in sorted(cache.answers.glob("*/*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, problems.HubError):
            yield path, Resolved.from_json(json.loads(path.read_bytes())["answer"])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def _is_older(path: Path, time_: float) -> bool:
    try:
        return path.stat().st_mtime < time_
    except FileNotFoundError:
        return False


def _count(cache: Cache) -> int:
    return sum(1 for path in cache.folder.rglob("*") if path.is_file())
