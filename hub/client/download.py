"""Blobs fetched into the cache: in parallel ranges, hashed while they arrive, resumed after a cut.

Only a file with the right digest is renamed to its name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from pathlib import Path

from hub.client import download_locks
from hub.client.cache import Cache, RemoteFile, explained, mismatch
from hub.client.partial_downloads import Partial
from hub.client.receiver import CONTENT_RANGE, RangesRefused, Receiver
from hub.client.transport import Transport
from hub.protocol import problems

RANGES = 2
SMALL_BYTES = 1 << 20
SMALL_THREADS = 4

log = logging.getLogger("hub.client")


def fetch_all(
    transport: Transport,
    cache: Cache,
    files: Iterable[RemoteFile],
    *,
    ranges: int = RANGES,
    on_bytes: Callable[[int], None] | None = None,
    on_file: Callable[[], None] | None = None,
) -> dict[str, Path]:
    """Bring every file into the cache; return the blob's path for each SHA-256.

    `on_bytes` gets the number of bytes that arrived, `on_file` is called for each file, from any
    thread.
    """
    by_digest = {file.sha256: file for file in files}
    small = [file for file in by_digest.values() if file.size <= SMALL_BYTES]
    large = [file for file in by_digest.values() if file.size > SMALL_BYTES]
    paths: dict[str, Path] = {}

    def bring(file: RemoteFile, context: Context | None = None) -> Path:
        if context is not None:  # a thread of the pool has none of its own
            return context.run(bring, file)
        path = fetch(transport, cache, file, ranges=ranges, on_bytes=on_bytes)
        if on_file is not None:
            on_file()
        return path

    if len(small) > 1:
        with ThreadPoolExecutor(SMALL_THREADS, thread_name_prefix="hub-fetch") as pool:
            contexts = [copy_context() for _ in small]
            paths |= zip(
                [file.sha256 for file in small], pool.map(bring, small, contexts), strict=True
            )
    else:
        paths |= {file.sha256: bring(file) for file in small}
    paths |= {file.sha256: bring(file) for file in large}
    return paths


def fetch(
    transport: Transport,
    cache: Cache,
    file: RemoteFile,
    *,
    ranges: int = RANGES,
    on_bytes: Callable[[int], None] | None = None,
) -> Path:
    """Return the blob's path in the cache, after fetching and verifying it where needed.

    Raise `DigestMismatch` for wrong bytes, of which nothing is kept, and `Unreachable` when the
    connection fails for good; what has arrived then is kept and the next call goes on from there.
    """
    report = on_bytes or _ignore
    if path := cache.find(file.sha256, file.size):
        report(file.size)
        return path
    if cache.blob_path(file.sha256).exists():
        log.warning(
            "The cached file %s is damaged: %s is downloaded again.",
            cache.blob_path(file.sha256),
            file.path,
        )
    is_small = file.size <= SMALL_BYTES
    locked = download_locks.alone(cache, file.sha256, file.size, transport.sleep, is_small=is_small)
    with locked as present:
        if present is not None or is_small:
            path = present or cache.put(read_small(transport, file), file.sha256)
            report(file.size)
            return path
        return _receive(transport, cache, file, ranges, report)


def _receive(
    transport: Transport,
    cache: Cache,
    file: RemoteFile,
    ranges: int,
    report: Callable[[int], None],
) -> Path:
    with explained(cache.folder):
        while True:
            partial = Partial.open(cache, file.sha256, file.size)
            is_resumed = bool(partial.spans)
            receiver = Receiver(transport, file, partial, ranges, report)
            try:
                digest = receiver.run()
            except RangesRefused:
                partial.discard()
                ranges = 0
                continue
            except problems.DigestMismatch:
                partial.discard()
                raise
            if digest == file.sha256:
                return _keep(cache, partial, file)
            partial.discard()
            report(-receiver.reported)
            # Left-overs of a power cut may hold what was never written: once more, from nothing.
            if not is_resumed:
                raise mismatch(file.sha256, digest)


def _keep(cache: Cache, partial: Partial, file: RemoteFile) -> Path:
    try:
        partial.sync()
        return cache.take(partial.path, file.sha256)
    finally:
        partial.discard()


def read_small(transport: Transport, file: RemoteFile) -> bytes:
    """Return the bytes of a file, at most one more than it has; its digest is not verified."""
    retries = transport.retries()
    while True:
        try:
            with transport.stream(file.url, retries=retries) as stream:
                parts: list[bytes] = []
                remaining = file.size + 1
                while remaining and (part := stream.read(remaining)):
                    parts.append(part)
                    remaining -= len(part)
                return b"".join(parts)
        except problems.Unreachable as error:
            retries.pause(error)


def read_range(transport: Transport, file: RemoteFile, start: int, end: int) -> bytes | None:
    """Return the bytes from `start` to `end` of a file, which are not verified.

    It is None where the answer is not this range, as from a proxy that sends whole files only.
    """
    retries = transport.retries()
    part = bytearray()
    while len(part) < end - start:
        expected = (str(start + len(part)), str(end - 1), str(file.size))
        headers = {"Range": f"bytes={expected[0]}-{end - 1}"}
        try:
            with transport.stream(file.url, headers, retries=retries) as stream:
                place = CONTENT_RANGE.fullmatch(stream.headers.get("Content-Range", ""))
                if place is None or place.groups() != expected or stream.is_coded:
                    return None
                while block := stream.read(end - start - len(part)):
                    part += block
        except problems.Unreachable as error:
            retries.pause(error)
    return bytes(part)


def write_file(
    transport: Transport, address: str, target: Path, on_bytes: Callable[[int], None] | None = None
) -> None:
    """Write what lies at an address to a file, from its start again after each cut."""
    report = on_bytes or _ignore
    retries = transport.retries()
    while True:
        size = 0
        try:
            with transport.stream(address, retries=retries) as reader, target.open("wb") as writer:
                while block := reader.read():
                    size += writer.write(block)
                    report(len(block))
                length = "" if reader.is_coded else reader.headers.get("Content-Length", "")
        except problems.Unreachable as cut:
            error = cut
        else:
            if not length.isdecimal() or length == str(size):
                return
            error = problems.Unreachable(f"{address} was downloaded only in part. Try again.")
        report(-size)
        retries.pause(error)


def _ignore(count: int) -> None:
    """Take no notice of progress."""
