"""Which bytes outside the model a tensor may name: files of the same version, whole and inside.

A location is a path relative to the model's own folder. It is looked up in the version's list of
files and nowhere else, so nothing on the host can be named by it.
"""

from __future__ import annotations

import posixpath

from runners.engine.onnx_files import text
from runners.engine.onnx_files.walk import External, Walk

_KEYS = frozenset({"location", "offset", "length", "checksum", "basepath"})
_MAX_DIGITS = 18
_LISTED_RANGES = 3
# Tools align tensors to at most the granularity of memory maps on Windows, and files to pages.
_MOST_ALIGNMENT, _PAGE = 64 << 10, 4 << 10


def resolve(entry: str, location: str) -> str | None:
    """Give the version path that a location means, or None when it may not mean any."""
    parts = location.split("/")
    if (
        location.startswith("/")
        or "\\" in location
        or any(ord(letter) < 32 for letter in location)
        or "" in parts
        or ".." in parts
    ):
        return None
    inner = posixpath.normpath(posixpath.join(posixpath.dirname(entry), *parts))
    return None if inner == "." else inner


def refer(walk: Walk, entries: list[tuple[str, str]], needed: int) -> None:
    """Check one tensor's external_data; keeps it in the walk, or notes why it is refused."""
    values = dict(entries)
    if len(values) != len(entries):
        walk.refuse("external-data-contradiction", "An external-data key occurs twice.")
        return
    location = values.get("location", "")
    if not location:
        walk.refuse(
            "external-data-no-location",
            "A tensor states that its data is in another file, but names none. Save the model "
            "again with onnx.save(..., save_as_external_data=True).",
        )
        return
    path = _allowed(walk, location)
    if path is None:
        return
    offset = _number(walk, values, "offset", 0)
    length = _number(walk, values, "length", needed)
    if offset is not None and length is not None:
        _fit(walk, External(path, offset, length), needed)


def _allowed(walk: Walk, location: str) -> str | None:
    name = text.clip(location, 100)
    path = resolve(walk.entry, location)
    if path is None:
        walk.refuse(
            "external-data-outside",
            f"External data {name!r} leaves the model's folder. Use a plain relative file name "
            "without '..', and upload that file beside the model.",
        )
    elif path == walk.entry:
        walk.refuse(
            "external-data-self",
            "A tensor names the model file itself as its external data. Save the weights in a "
            "separate file.",
        )
        path = None
    elif path in walk.pointers:
        walk.refuse(
            "git-lfs-pointer",
            f"External data {name!r} is a Git LFS pointer, a small text file in place of the "
            "weights. Get the file itself with `git lfs pull` and upload that.",
        )
        path = None
    elif path not in walk.files:
        walk.refuse(
            "external-data-missing",
            f"External data {name!r} is not among the version's files. Upload it as {path!r}, "
            "beside the model.",
        )
        path = None
    return path


def _number(walk: Walk, values: dict[str, str], key: str, default: int) -> int | None:
    if key not in values:
        return default
    written = values[key]
    if written.isascii() and written.isdigit() and len(written) <= _MAX_DIGITS:
        return int(written)
    walk.refuse(
        "external-data-range",
        f"The {key} {text.clip(written, 40)!r} of external data is not a plain number of bytes.",
    )
    return None


def _fit(walk: Walk, external: External, needed: int) -> None:
    size = walk.files[external.path]
    if external.length != needed:
        walk.refuse(
            "external-data-length",
            f"External data has {external.length:,} bytes but the tensor's shape and type need "
            f"{needed:,}.",
        )
        return
    if external.offset + external.length > size:
        walk.refuse(
            "external-data-range",
            f"External data ends at byte {external.offset + external.length:,}, but "
            f"{text.clip(external.path, 100)!r} has {size:,} bytes. The file is truncated or "
            "belongs to another export.",
        )
        return
    walk.external.setdefault(external.path, []).append(external)


def note_unread(walk: Walk) -> None:
    """Note the bytes of data files that no tensor reads, padding before and after tensors apart.

    Only where the version has no second model, which might read them.
    """
    if sum(path.lower().endswith(".onnx") for path in walk.files) > 1:
        return
    for path, parts in sorted(walk.external.items()):
        gaps = _gaps(parts, walk.files[path])
        if not gaps:
            continue
        total = sum(last - first for first, last in gaps)
        ranges = ", ".join(f"{first:,} to {last - 1:,}" for first, last in gaps[:_LISTED_RANGES])
        more = (
            f" and {len(gaps) - _LISTED_RANGES} more ranges" if len(gaps) > _LISTED_RANGES else ""
        )
        walk.notes.add(
            "external-data-unread",
            "warning",
            f"Nothing in the model reads {total:,} of {walk.files[path]:,} bytes of "
            f"{text.clip(path, 100)!r}: bytes {ranges}{more}. They may belong to another export. "
            "Save the model again with onnx.save(..., save_as_external_data=True).",
        )


def _gaps(parts: list[External], size: int) -> list[tuple[int, int]]:
    """Ranges (first byte, byte after the last) that no tensor covers and no alignment explains."""
    gaps = []
    end = 0
    for part in sorted(parts, key=lambda part: part.offset):
        if part.offset - end >= min(part.offset & -part.offset, _MOST_ALIGNMENT) and part.length:
            gaps.append((end, part.offset))
        end = max(end, part.offset + part.length)
    if size - end >= min(size & -size, _PAGE):
        gaps.append((end, size))
    return [(first, last) for first, last in gaps if last > first]


def strange_keys(entries: list[tuple[str, str]]) -> list[str]:
    return sorted({text.clip(key, 40) for key, _ in entries} - _KEYS)
