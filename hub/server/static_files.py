"""The static files of the pages, collected again only after something changed.

A record beside their folder is a digest of what they are made from and of what is there. It is
removed before files are collected and written after, so that a killed process leaves none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

# A file's path, its size in bytes, and its time of change in nanoseconds.
_State = tuple[str, int, int]


def collect() -> None:
    """Bring the folder `STATIC_ROOT` up to date."""
    folder = Path(settings.STATIC_ROOT)
    record = folder.with_name(f"{folder.name}.collected")
    sources = [
        _state(storage.path(name)) for finder in get_finders() for name, storage in finder.list([])
    ]
    if record.is_file() and record.read_text() == _digest(sources, folder):
        return
    record.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False)
    unfinished = record.with_name(f"{record.name}.new")
    unfinished.write_text(_digest(sources, folder))
    unfinished.replace(record)


def _digest(sources: Iterable[_State], folder: Path) -> str:
    """The SHA-256 of all that could make another collection come out otherwise."""
    collected = sorted(_state(path, folder) for path in folder.rglob("*") if path.is_file())
    storage = [settings.STATIC_URL, settings.STORAGES["staticfiles"]]
    libraries = [version("django"), version("whitenoise"), find_spec("brotli") is not None]
    state = json.dumps([list(sources), collected, storage, libraries])
    return hashlib.sha256(state.encode()).hexdigest()


def _state(path: str | Path, folder: Path = Path("/")) -> _State:
    stat = Path(path).stat()
    return str(Path(path).relative_to(folder)), stat.st_size, stat.st_mtime_ns
