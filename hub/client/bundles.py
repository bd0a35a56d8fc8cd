"""Files on their way to a hub: what a push would send of them, and sending them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.client.cache import Cache
from hub.client.progress import Bar
from hub.client.rest import answers
from hub.client.transport import Transport
from hub.client.upload import Upload

if TYPE_CHECKING:
    from hub.client.local_files import LocalFile


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a push would do: make the entry, send the files of ``missing`` paths, or nothing."""

    creates: bool
    missing: tuple[str, ...]
    identical_to: int | None


def preflight(transport: Transport, address: str, content: dict[str, Any]) -> Preflight:
    """Ask what a push would do; nothing is stored. Raise what it would run into."""
    answer = transport.request("POST", f"{address}/preflight", content=content, repeatable=True)
    return answers.read(Preflight, answer.json())


def send(
    transport: Transport,
    cache: Cache,
    name: str,
    files: Collection[LocalFile],
    *,
    progress: bool | None,
) -> None:
    """Upload files, with one bar of that name over them."""
    total = sum(file.size for file in files)
    with Bar(name, total, files=len(files), is_shown=progress) as bar:
        for file in files:
            Upload(transport, cache, file, bar.advance).run()
            bar.end_file()
