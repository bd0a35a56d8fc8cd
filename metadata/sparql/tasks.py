"""A query as its engine gets it, embedded or remote, and the result that it gives."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, cast

from django.conf import settings

from hub.protocol import problems

# Results up to this size never touch the disk.
_IN_MEMORY = 1 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """One query on one state of the store, and what it may cost."""

    query: str
    media_type: str
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    union: bool
    snapshot: str
    seconds: float
    result_bytes: int


class SnapshotGoneError(Exception):
    """The copy of the store that a task names was removed in the meantime."""


IsGone = Callable[[], bool]


def new_result() -> IO[bytes]:
    """An empty result; on disk as soon as it is large."""
    folder = str(settings.FILE_UPLOAD_TEMP_DIR)
    return cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=folder))


def too_slow(seconds: float) -> problems.QueryTimeout:
    return problems.QueryTimeout(
        f"The query took longer than {seconds:g} s and was stopped. Bind more terms, remove "
        "patterns "
        "that share no variable, or add LIMIT; a token allows more time."
    )


def too_large(most_bytes: int) -> problems.QueryTooCostly:
    return problems.QueryTooCostly(
        f"The result is larger than {most_bytes} bytes. Use LIMIT and OFFSET or fewer variables, "
        "or download the nightly dump."
    )


def gone() -> problems.InvalidRequest:
    return problems.InvalidRequest("The client disconnected before the result was ready.")
