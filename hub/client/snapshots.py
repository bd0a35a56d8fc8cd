"""Folders that hold every file of a version, made from blobs of the cache.

ONNX refuses external data that is a symbolic link or has more than one hard link, and ONNX Runtime
refuses data that a link leads out of its folder. So large `.onnx` files are hard links to their
blob, which both accept, and every other file is a copy of its own: a copy that shares its blocks
where the file system can (XFS, Btrfs), and otherwise costs its size once more.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hub.client.cache import explained, sync_folder
from hub.protocol import manifests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hub.client.cache import Cache, RemoteFile, Resolved

LINK_BYTES = 1 << 20


def folder_of(cache: Cache, resolved: Resolved) -> Path:
    """Return the folder for exactly these files; another set of files has another folder."""
    digest = manifests.digest((file.path, file.sha256, file.size) for file in resolved.files)
    ref = resolved.ref
    return cache.snapshots / ref.namespace / ref.model / f"{resolved.number}-{digest[:12]}"


def find(cache: Cache, resolved: Resolved) -> Path | None:
    """Return the folder when it is there with every file in its right size."""
    folder = folder_of(cache, resolved)
    for file in resolved.files:
        path = folder / file.path
        if path.is_symlink() or not path.is_file() or path.stat().st_size != file.size:
            return None
    if not folder.is_dir():
        return None
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def make(cache: Cache, resolved: Resolved, blobs: Mapping[str, Path]) -> Path:
    """Return the folder, made in one step from blobs that the cache holds."""
    if found := find(cache, resolved):
        return found
    target = folder_of(cache, resolved)
    cache.prepare(target.parent)
    with explained(cache.folder):
        _write_receipt(cache, resolved, target)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        try:
            made.chmod(0o755)
            for file in resolved.files:
                _place(blobs[file.sha256], made / file.path, file, is_linked=True)
            _settle(made, target, cache, resolved)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _settle(made: Path, target: Path, cache: Cache, resolved: Resolved) -> None:
    try:
        made.rename(target)
    except OSError:
        if find(cache, resolved):
            return  # another process was faster, with the same files
        # What lies there was changed from outside: put it aside in one step, then take its place.
        aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        try:
            with contextlib.suppress(FileNotFoundError):
                target.rename(aside / "damaged")
            made.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    sync_folder(target.parent)


def export(resolved: Resolved, blobs: Mapping[str, Path], folder: Path) -> Path:
    """Write every file of the version into a folder of the caller's, each in one step.

    The files are copies, so that whoever owns the folder may change them; others there stay.
    """
    for file in resolved.files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".hub-")
        os.close(handle)
        written = Path(name)
        try:
            written.unlink()
            _place(blobs[file.sha256], written, file, is_linked=False)
            written.chmod(0o644)
            written.replace(target)
        finally:
            written.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place(blob: Path, target: Path, file: RemoteFile, *, is_linked: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_linked and file.size >= LINK_BYTES and file.path.endswith(".onnx"):
        # A cache on a file system without hard links gets copies.
        with contextlib.suppress(OSError):
            target.hardlink_to(blob)
            return
    copy(blob, target)
    if is_linked:
        target.chmod(0o444)


def copy(source: Path, target: Path) -> None:
    """Copy a file inside the kernel, sharing blocks where the file system can."""
    if not hasattr(os, "copy_file_range"):
        shutil.copyfile(source, target)
        return
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        left = os.fstat(reader.fileno()).st_size
        try:
            while left:
                count = os.copy_file_range(reader.fileno(), writer.fileno(), min(left, 1 << 30))
                if not count:
                    break
                left -= count
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
    found: list[Receipt] = []
    for path in cache.snapshots.glob("*/*/*.json"):
        folder = path.with_suffix("")
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(path.read_bytes())
            used = max(path.stat().st_mtime, folder.stat().st_mtime if folder.exists() else 0)
            files = tuple((str(p), str(sha), int(size)) for p, sha, size in kept["files"])
            found.append(Receipt(str(kept["ref"]), folder, files, used))
    return sorted(found, key=lambda receipt: (receipt.ref, receipt.folder))
