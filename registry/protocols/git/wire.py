"""Packet lines as git sends them. Source: gitprotocol-common and gitprotocol-pack."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from hub.protocol import problems

FLUSH, DELIMITER = b"0000", b"0001"
# The most that a request may hold: some hundred thousand lines.
LONGEST_REQUEST = 16_000_000
# The most data in one line beside a channel (side-band-64k).
_LARGEST = 65_515
_DATA, _PROGRESS = b"\1", b"\2"


def line(text: str) -> bytes:
    """A packet line with a newline at its end."""
    return packet(f"{text}\n".encode())


def packet(data: bytes) -> bytes:
    """A packet line of at most 65,516 bytes."""
    return b"%04x" % (len(data) + 4) + data


def read(body: bytes) -> list[str | None]:
    """The lines of a request; a flush is None, a delimiter an empty line. Raises InvalidRequest."""
    lines: list[str | None] = []
    place = 0
    try:
        while place < len(body):
            length = int(body[place : place + 4], 16)
            if length < 4:
                lines.append("" if length == 1 else None)
                place += 4
            else:
                lines.append(body[place + 4 : place + length].decode().rstrip("\n"))
                place += length
    except ValueError as error:  # not hexadecimal, or not UTF-8
        raise problems.InvalidRequest("The body does not consist of packet lines.") from error
    if place > len(body):
        raise problems.InvalidRequest("The body is truncated.")
    return lines


def unpacked(body: bytes) -> bytes:
    """A body that git compressed; raises InvalidRequest and TooLarge."""
    engine = zlib.decompressobj(wbits=31)
    try:
        plain = engine.decompress(body, LONGEST_REQUEST + 1)
    except zlib.error as error:
        raise problems.InvalidRequest("The body is not valid gzip.") from error
    if len(plain) > LONGEST_REQUEST:
        raise problems.TooLarge("The request names too many commits.")
    return plain


def banded(chunks: Iterable[bytes], *, note: str = "") -> Iterator[bytes]:
    """Data as lines of channel 1, perhaps after words for people on channel 2; a flush ends it."""
    if note:
        yield packet(_PROGRESS + f"{note}\n".encode())
    waiting = bytearray()
    for chunk in chunks:
        waiting += chunk
        while len(waiting) >= _LARGEST:
            yield packet(_DATA + bytes(waiting[:_LARGEST]))
            del waiting[:_LARGEST]
    if waiting:
        yield packet(_DATA + bytes(waiting))
    yield FLUSH
