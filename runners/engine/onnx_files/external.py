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


def strange_keys(entries: list[tuple[str, str]]) -> list[str]:
    return sorted({text.clip(key, 40) for key, _ in entries} - _KEYS)
