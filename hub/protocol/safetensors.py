"""The safetensors format, read strictly: 8 bytes of length, a JSON header, then plain tensor bytes.

A file is taken only when its tensors cover its data exactly: no gap, no overlap, nothing behind
them. Nothing but the header is read here. Writing gives the same bytes for the same tensors,
whatever order they came in.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

MEDIA_TYPE = "application/vnd.safetensors"
MOST_HEADER_BYTES = 1 << 20
MOST_TENSORS = 16_384
MOST_NAME = 512
MOST_DIMENSIONS = 16
# Largest element first, as the format's own writer lays them out: all of them stay aligned.
ITEM_BYTES: dict[str, int] = {
    "U64": 8,
    "I64": 8,
    "F64": 8,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "BF16": 2,
    "F16": 2,
    "U16": 2,
    "I16": 2,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
}
_ORDER = {dtype: place for place, dtype in enumerate(ITEM_BYTES)}
_LENGTH = struct.Struct("<Q")
_METADATA = "__metadata__"
_KEYS = {"dtype", "shape", "data_offsets"}
_MOST_DIMENSION = 1 << 48


class MalformedError(ValueError):
    """The bytes are not a safetensors file as it has to be; `tensor` is the one at fault, if any.

    The message says what is wrong and is fit for a stranger's eyes.
    """

    def __init__(self, message: str, tensor: str = "") -> None:
        super().__init__(message)
        self.tensor = tensor


class Reader(Protocol):
    """A binary source that gives bytes from where it stands, such as an open file."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file; `start` and `end` count from the beginning of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Header:
    """The tensors of a file in the order of their bytes, and where these begin in the file."""

    tensors: tuple[Tensor, ...]
    data_start: int
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def file_bytes(self) -> int:
        """The size that the whole file must have."""
        return self.data_start + (self.tensors[-1].end if self.tensors else 0)

    def by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}


def read_file(path: str | os.PathLike[str]) -> Header:
    """Read the header of a stored file; raises MalformedError, and OSError."""
    with Path(path).open("rb") as reader:
        return read(reader, os.fstat(reader.fileno()).st_size)


def read(reader: Reader, file_bytes: int) -> Header:
    """Read the header from a source that stands at the file's beginning."""
    length = header_bytes(reader.read(_LENGTH.size), file_bytes)
    return parse(reader.read(length), file_bytes)


def header_bytes(first: bytes, file_bytes: int) -> int:
    """Give the length of the header that the first eight bytes name."""
    if len(first) < _LENGTH.size:
        raise MalformedError("The file is too short to be a safetensors file.")
    (length,) = _LENGTH.unpack(first[: _LENGTH.size])
    if length > MOST_HEADER_BYTES:
        raise MalformedError(f"The header may have {MOST_HEADER_BYTES:,} bytes; it has {length:,}.")
    if _LENGTH.size + length > file_bytes:
        raise MalformedError("The file ends inside its header.")
    return int(length)


def parse(header: bytes, file_bytes: int) -> Header:
    """Read a header, without the eight bytes before it, of a file of ``file_bytes`` bytes."""
    try:
        document = json.loads(
            header.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except MalformedError:
        raise
    except (ValueError, RecursionError):
        raise MalformedError("The header is not JSON.") from None
    if not header.startswith(b"{") or not isinstance(document, dict):
        raise MalformedError("The header is not a JSON object.")
    metadata = _metadata(document.pop(_METADATA, {}))
    if len(document) > MOST_TENSORS:
        raise MalformedError(
            f"The file may have {MOST_TENSORS:,} tensors; it has {len(document):,}."
        )
    tensors = sorted(
        (_tensor(name, entry) for name, entry in document.items()),
        key=lambda tensor: (tensor.start, tensor.end),
    )
    read_header = Header(tuple(tensors), _LENGTH.size + len(header), metadata)
    _refuse_holes(read_header, file_bytes)
    return read_header


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedError("The header contains a name twice.")
    return members


def _no_constant(word: str) -> None:
    raise MalformedError(f"The header holds {word}, which is not JSON.")


def _metadata(members: Any) -> dict[str, str]:
    if not isinstance(members, dict) or not all(
        isinstance(value, str) for value in members.values()
    ):
        raise MalformedError("The header's metadata must map names to strings.")
    return members


def _tensor(name: str, entry: Any) -> Tensor:
    label = name[:MOST_NAME]
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise MalformedError("A tensor's name is empty, too long or not printable.", label)
    if not isinstance(entry, dict) or entry.keys() != _KEYS:
        raise MalformedError(f"{label!r} must have a dtype, a shape and data_offsets.", label)
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise MalformedError(f"The type of {label!r} is not supported.", label)
    if not _are_sizes(shape) or len(shape) > MOST_DIMENSIONS:
        raise MalformedError(f"The shape of {label!r} is not a list of sizes.", label)
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise MalformedError(f"The offsets of {label!r} must be two numbers.", label)
    tensor = Tensor(name, dtype, tuple(shape), offsets[0], offsets[1])
    if tensor.end - tensor.start != tensor.elements * ITEM_BYTES[dtype]:
        raise MalformedError(f"The offsets of {label!r} do not match its shape and type.", label)
    return tensor


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= _MOST_DIMENSION for value in values
    )


def _refuse_holes(header: Header, file_bytes: int) -> None:
    place = 0
    for tensor in header.tensors:
        if tensor.start != place:
            what = "overlaps the tensor before it" if tensor.start < place else "leaves a gap"
            raise MalformedError(f"{tensor.name!r} {what}.", tensor.name)
        place = tensor.end
    if header.file_bytes != file_bytes:
        raise MalformedError(
            f"The file has {file_bytes:,} bytes, but its header requires {header.file_bytes:,}."
        )


def make_header(
    tensors: Iterable[tuple[str, str, tuple[int, ...]]], metadata: Mapping[str, str] | None = None
) -> tuple[bytes, Header]:
    """Lay out (name, dtype, shape) tensors; give the file's first bytes and what they say.

    Raises MalformedError for what `parse` would refuse.
    """
    ordered = sorted(tensors, key=lambda tensor: (_ORDER.get(tensor[1], -1), tensor[0].encode()))
    document: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    place = 0
    for name, dtype, shape in ordered:
        if name in document or name == _METADATA:
            raise MalformedError(f"{name!r} is named twice.", name)
        if dtype not in ITEM_BYTES:
            raise MalformedError(f"The type of {name!r} is not supported.", name)
        end = place + math.prod(shape) * ITEM_BYTES[dtype]
        document[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER_BYTES:
        raise MalformedError(f"The header would have {len(text):,} bytes.")
    header = parse(text, _LENGTH.size + len(text) + place)
    return _LENGTH.pack(len(text)) + text, header
