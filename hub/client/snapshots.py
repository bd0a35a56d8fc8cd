"""Folders that hold every file of a version, made from blobs of the cache.

ONNX refuses external data that is a symbolic link or has more than one hard link, and ONNX Runtime
refuses data that a link leads out of its folder. So small files are copies; a large `.onnx` file is
a hard link to its blob, which both accept; and any other large file moves: the folder holds its
only hard link, and the blob becomes a symbolic link to it. Nothing large is on the disk twice.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hub.client.cache import Cache, RemoteFile, Resolved, explained, sync_folder
from hub.protocol import manifests, problems

log = logging.getLogger("hub.client")

LINK_BYTES = 1 << 20
RELEASE_SECONDS = 1.0


def folder_of(cache: Cache, resolved: Resolved) -> Path:
    """Return the folder for exactly these files; another set of files has another folder."""
    digest = manifests.digest((file.path, file.sha256, file.size) for file in resolved.files)
    ref = resolved.ref
    return cache.snapshots / ref.namespace / ref.model / f"{resolved.number}-{digest[:12]}"


def find(cache: Cache, resolved: Resolved) -> Path | None:
    """Return the folder when it is there with every file, verified."""
    folder = folder_of(cache, resolved)
    if _is_whole(cache, folder, resolved):
        _release(cache, folder, resolved)
        with contextlib.suppress(OSError):
            os.utime(folder)
        return folder
    for shared in cache.shared:
        folder = folder_of(shared, resolved)
        if _is_whole(shared, folder, resolved):
            return folder
    return None


def _is_whole(cache: Cache, folder: Path, resolved: Resolved) -> bool:
    for file in resolved.files:
        path = folder / file.path
        if path.is_symlink() or not cache.verified.holds(path, file.sha256, file.size):
            return False
    return folder.is_dir()


def make(cache: Cache, resolved: Resolved, blobs: Mapping[str, Path]) -> Path:
    """Return the folder, made in one step from blobs that the cache holds."""
    if existing := find(cache, resolved):
        return existing
    target = folder_of(cache, resolved)
    cache.prepare(target.parent)
    with explained(cache.folder):
        _write_receipt(cache, resolved, target)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        try:
            folder.chmod(0o755)
            linked: set[str] = set()
            for file in resolved.files:
                # The second of two equal files is a copy: neither may have two links.
                _place(cache, blobs[file.sha256], folder / file.path, file, linked)
            _settle(cache, folder, target, resolved)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        _release(cache, target, resolved)
        for file in resolved.files:
            cache.verified.renew(target / file.path, file.sha256)
    return target


def _release(cache: Cache, folder: Path, resolved: Resolved) -> None:
    """Leave every large data file of a folder with one hard link, after interruptions too."""
    for file in resolved.files:
        path = folder / file.path
        if file.path.endswith(".onnx") or path.stat().st_nlink == 1:
            continue
        blob = cache.blob_path(file.sha256)
        with contextlib.suppress(OSError):
            # No symbolic links here (Windows), or the blob was cleaned away: the copy below helps.
            if not blob.is_symlink() and blob.samefile(path):
                pointer = cache.prepare(cache.partial) / f"{file.sha256}.tmp-{secrets.token_hex(6)}"
                pointer.symlink_to(os.path.relpath(path, cache.blobs))
                pointer.replace(blob)
        # Another process may be giving up the same folder and still hold a link.
        deadline = time.monotonic() + RELEASE_SECONDS
        while path.stat().st_nlink > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        if path.stat().st_nlink > 1:
            with cache.scratch(cache.prepare(cache.partial), file.sha256) as own:
                copy(path, own)
                own.chmod(0o444)
                own.replace(path)
        cache.verified.renew(path, file.sha256)


def _settle(cache: Cache, folder: Path, target: Path, resolved: Resolved) -> None:
    try:
        folder.rename(target)
    except OSError:
        if _is_whole(cache, target, resolved):
            return  # another process was faster, with the same files
        log.warning(
            "The files of %s in %s were modified and are being replaced.", resolved.ref, target
        )
        paths = [target / file.path for file in resolved.files]
        if all(path.parent.is_dir() and not path.is_dir() for path in paths):
            _mend(cache, folder, target, resolved)
        else:
            _exchange(cache, folder, target, resolved)
    sync_folder(target.parent)


def _mend(cache: Cache, folder: Path, target: Path, resolved: Resolved) -> None:
    """Replace each damaged file in one step.

    The folder keeps its place: blobs may be links into it, and other processes may repair it too.
    """
    for file in resolved.files:
        path = target / file.path
        if path.is_symlink() or not cache.verified.holds(path, file.sha256, file.size):
            (folder / file.path).replace(path)
            sync_folder(path.parent)


def _exchange(cache: Cache, folder: Path, target: Path, resolved: Resolved) -> None:
    """Put aside what is not a folder of such files, and take its place."""
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        with contextlib.suppress(FileNotFoundError):
            target.rename(aside / "damaged")
        folder.rename(target)
    except OSError:
        if not _is_whole(cache, target, resolved):  # another process was not faster either
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def export(files: Iterable[RemoteFile], blobs: Mapping[str, Path], folder: Path) -> Path:
    """Write files of a version into a folder of the caller's, each in one step.

    The files are copies, so that the owner of the folder may change them; others there stay.
    """
    for file in files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".hub-")
        os.close(handle)
        partial = Path(name)
        try:
            partial.unlink()
            copy(blobs[file.sha256], partial)
            partial.chmod(0o644)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place(cache: Cache, blob: Path, target: Path, file: RemoteFile, linked: set[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    is_moved = blob.is_symlink()  # to the folder of another version, which keeps its only link
    is_own = blob.parent == cache.blobs  # a link would change a file of a shared cache
    if file.size >= LINK_BYTES and is_own and not is_moved and file.sha256 not in linked:
        # A cache on a file system without hard links gets copies.
        with contextlib.suppress(OSError):
            target.hardlink_to(blob)
            if not target.is_symlink():
                linked.add(file.sha256)
                return
            target.unlink()  # the blob has just moved
    copy(blob, target)
    target.chmod(0o444)
    if not cache.verified.holds(target, file.sha256, file.size):
        raise problems.CacheUnusable(
            f"{blob} changed while it was being copied to {target}. Run `hub cache verify`, and "
            "find out which program writes to the cache."
        )


def copy(source: Path, target: Path) -> None:
    """Copy a file inside the kernel, sharing blocks where the file system can."""
    if not hasattr(os, "copy_file_range"):
        shutil.copyfile(source, target)
        return
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        remaining = os.fstat(reader.fileno()).st_size
        try:
            while remaining:
                count = os.copy_file_range(
                    reader.fileno(), writer.fileno(), min(remaining, 1 << 30)
                )
                if not count:
                    break
                remaining -= count
        except OSError:
            # Not between these two file systems, or not in this kernel.
            reader.seek(0)
            writer.seek(0)
            writer.truncate()
            shutil.copyfileobj(reader, writer, 1 << 20)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a snapshot folder was made of: enough to list it, verify it and judge its age."""

    ref: str
    folder: Path
    files: tuple[tuple[str, str, int], ...]
    used_at: float

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(size for _, _, size in self.files)


def _write_receipt(cache: Cache, resolved: Resolved, target: Path) -> None:
    cache.write_json(
        target.with_name(f"{target.name}.json"),
        {
            "ref": str(resolved.ref),
            "made_at": time.time(),
            "files": [[file.path, file.sha256, file.size] for file in resolved.files],
        },
    )


def receipts(cache: Cache) -> list[Receipt]:
    """Return what every snapshot was made of, by reference; unreadable receipts are left out."""
    rows: list[Receipt] = []
    for path in cache.snapshots.glob("*/*/*.json"):
        folder = path.with_suffix("")
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads(path.read_bytes())
            used = max(path.stat().st_mtime, folder.stat().st_mtime if folder.exists() else 0)
            files = tuple((str(p), str(sha), int(size)) for p, sha, size in document["files"])
            rows.append(Receipt(str(document["ref"]), folder, files, used))
    return sorted(rows, key=lambda receipt: (receipt.ref, receipt.folder))
