"""Server-sent events, within bounds: a held answer holds a thread of the web process.

Few at once, none for long, and fewer for one reader; whoever gets none asks every few seconds with
`ETag` instead, as a page did before. See docs/decisions/0025-runs-and-streams.md.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator

from django.conf import settings
from django.db import close_old_connections
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

LONGEST_SECONDS = 50.0
# How often a row is looked at, and after how long a silent line is tried: a reader who has gone is
# noticed by that alone.
LOOK_SECONDS, SILENT_SECONDS = 1.0, 5.0
# How soon a reader comes back after a stream that reached its bound, in milliseconds.
AGAIN_MILLISECONDS = 1000
MOST_OF_ONE = 2


class Places:
    """How many streams one process holds, in all and for each reader."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()

    def take(self, reader: str) -> bool:
        """Take a place for this reader, if there is one."""
        with self._lock:
            if self._held.total() >= settings.HUB_LIMITS_STREAMS:
                return False
            if self._held[reader] >= MOST_OF_ONE:
                return False
            self._held[reader] += 1
            return True

    def leave(self, reader: str) -> None:
        """Give a place back."""
        with self._lock:
            self._held[reader] -= 1
            self._held += Counter()

    def __len__(self) -> int:
        return self._held.total()


PLACES = Places()


def answer(
    look: Callable[[], tuple[str, bool]],
    reader: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> HttpResponseBase:
    """Stream what ``look`` gives whenever it changes, until the last state.

    ``look`` gives a text and whether it is the last; whatever it raises ends the stream. If no
    place is free, the answer is a 204.
    """
    if not PLACES.take(reader):
        # Not an error: it tells an EventSource to give up, and its page asks instead.
        full = HttpResponse(status=204)
        full["Retry-After"] = "10"
        full["Cache-Control"] = "no-store"
        return full
    response = StreamingHttpResponse(
        _Stream(look, reader, sleep, clock), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-store"
    # nginx holds an answer back until it is whole unless told so.
    response["X-Accel-Buffering"] = "no"
    return response


class _Stream:
    """The events of one answer; its place is given back however it ends, even unread."""

    def __init__(
        self,
        look: Callable[[], tuple[str, bool]],
        reader: str,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self._reader = reader
        self._open = True
        self._events = _events(look, sleep, clock)

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._events)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Called by Django when the response ends or the client disconnects."""
        if self._open:
            self._open = False
            PLACES.leave(self._reader)
            self._events.close()
            close_old_connections()


def _events(
    look: Callable[[], tuple[str, bool]],
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> Generator[bytes]:
    began = sent_at = clock()
    last_text = None
    yield f"retry: {AGAIN_MILLISECONDS}\n\n".encode()
    while clock() - began < LONGEST_SECONDS:
        text, last = look()
        if text != last_text:
            last_text, sent_at = text, clock()
            yield _event("end" if last else "change", text)
        elif clock() - sent_at > SILENT_SECONDS:
            sent_at = clock()
            yield b": still here\n\n"
        if last:
            return
        sleep(LOOK_SECONDS)


def _event(name: str, text: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"event: {name}\n{lines}\n".encode()
