"""Queries to the hub's graphs: cache, limits, and the freshness of the store.

Results are never more than a minute behind the rows: what was hidden is hidden here too, or
nothing is shown at all.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import IO

import structlog
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from hub.protocol import problems
from metadata.models import NamedGraph, Revision
from metadata.sparql import guard, limits, protocol, stores
from metadata.sparql.replication import State
from metadata.sparql.tasks import SnapshotGoneError, Task
from registry.models import Delivery

log = structlog.get_logger(__name__)

LAG = timedelta(minutes=1)
_CHUNK = 1 << 16
_CACHED_BYTES = 128 * 1024
_CACHED_SECONDS = 300
# Deliveries that may hide something: they count as much as graphs that are behind.
_HIDING = ("metadata.hiding",)
_WITHDRAWING = ("version.withdrawn", "version.deleted")


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How far the store has come: a revision of None is a store that is not there yet."""

    revision: int | None
    newest: int
    behind: timedelta
    state: State | None = None

    @property
    def refused(self) -> tuple[str, ...]:
        """The IRIs of graphs that are malformed and therefore not in the store."""
        return () if self.state is None else self.state.refused

    @property
    def is_sound(self) -> bool:
        """Whether the store has every graph, and is fresh enough to be shown."""
        return self.revision is not None and self.behind <= LAG and not self.refused


class Answer:
    """A result, complete and of known size, as pieces to send; close it when done."""

    def __init__(
        self, media_type: str, size: int, file: IO[bytes] | None, held: bytes = b""
    ) -> None:
        self.media_type = media_type
        self.size = size
        self._file = file
        self._held = held

    @property
    def chunks(self) -> Iterator[bytes]:
        """The result in pieces, once; it is closed with them."""
        if self._file is None:
            yield self._held
            return
        with self._file:
            while chunk := self._file.read(_CHUNK):
                yield chunk

    def close(self) -> None:
        """Give back the room that the result takes."""
        if self._file is not None:
            self._file.close()


def ask(
    text: str,
    *,
    client: str,
    signed_in: bool,
    accept: str,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    is_gone: Callable[[], bool] = lambda: False,
) -> Answer:
    """The answer to a query, in the format that ``accept`` (an Accept header) prefers.

    ``client`` is who shares one budget: a user or an address. ``is_gone`` tells that nobody waits
    any longer. Raises QueryInvalid, NotAllowed, NotAcceptable, TooLarge, QueryTooCostly, Throttled,
    Unavailable, QueryTimeout.
    """
    query = guard.vet(text)
    offered = protocol.RESULTS if query.form in ("SELECT", "ASK") else protocol.GRAPHS
    form = protocol.choose(accept, offered)
    state = _fresh_state()
    names_dataset = bool(default_graphs or named_graphs)
    seconds = settings.HUB_SPARQL_USER_SECONDS if signed_in else settings.HUB_SPARQL_SECONDS
    task = Task(
        query=query.text,
        media_type=form.media_type,
        default_graphs=tuple(default_graphs),
        named_graphs=tuple(named_graphs),
        # The union would silently outdo what the query or the request names.
        union=not names_dataset and not query.names_dataset,
        snapshot=state.snapshot,
        seconds=seconds,
        result_bytes=settings.HUB_SPARQL_RESULT_BYTES,
    )
    key = _key(task, state) if query.repeatable else ""
    content = _recall(key)
    if content is not None:
        return Answer(form.media_type, len(content), None, content)
    file = _compute(task, client, is_gone)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= _CACHED_BYTES:
        content = file.read()
        file.close()
        _remember(key, content)
        return Answer(form.media_type, size, None, content)
    return Answer(form.media_type, size, file)


def store_status() -> StoreStatus:
    """How far the store follows the rows."""
    newest = Revision.objects.values_list("number", flat=True).first() or 0
    state = stores.states().read()
    ours = state is not None and (state.home, state.store) == (
        settings.HUB_PUBLIC_URL,
        stores.name(),
    )
    if state is None or not ours or state.revision > newest:
        return StoreStatus(None, newest, timedelta.max)
    return StoreStatus(state.revision, newest, _behind(state.revision), state)


def _behind(revision: int) -> timedelta:
    """How long the oldest change that the store lacks has been there."""
    now = timezone.now()
    missing = NamedGraph.objects.filter(revision__gt=revision).order_by("updated_at")
    waiting = Delivery.objects.filter(consumer__in=_HIDING) | Delivery.objects.filter(
        consumer__startswith="metadata.", event__verb__in=_WITHDRAWING
    )
    moments = [
        missing.values_list("updated_at", flat=True).first(),
        waiting.order_by("event__at").values_list("event__at", flat=True).first(),
    ]
    return max((now - at for at in moments if at is not None), default=timedelta(0))


def _fresh_state() -> State:
    """What may be shown now. Raises Unavailable where the store is missing or too far behind."""
    current = store_status()
    if current.state is None:
        raise problems.Unavailable(
            "The graph store is not ready: it is being built, or the process that builds it "
            "(`hub graphs`) is not running.",
            retry_after=5,
        )
    if current.behind > LAG:
        raise problems.Unavailable(
            f"The graph store is {current.behind.total_seconds():.0f} s behind the published "
            "models and might show data that has since been hidden. The process that updates it "
            "(`hub graphs`) is not running or busy.",
            retry_after=10,
        )
    return current.state


def _compute(task: Task, client: str, is_gone: Callable[[], bool]) -> IO[bytes]:
    used = limits.spent(client)
    with _gate().place(client, is_light=limits.is_light(used)):
        began = time.monotonic()
        try:
            return _run(task, is_gone)
        finally:
            limits.charge(client, time.monotonic() - began)


def _run(task: Task, is_gone: Callable[[], bool]) -> IO[bytes]:
    for _ in range(3):
        try:
            return stores.engine().run(task, is_gone)
        except SnapshotGoneError:  # a newer copy took its place between our look and theirs
            task = replace(task, snapshot=_fresh_state().snapshot)
    raise problems.Unavailable("The graph store is changing too fast. Try again.", retry_after=1)


def _key(task: Task, state: State) -> str:
    text = repr((task, state, settings.HUB_SPARQL_RESULT_BYTES))
    return f"sparql:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _recall(key: str) -> bytes | None:
    try:
        content = cache.get(key) if key else None
    except RedisError as error:
        log.warning("query_cache_away", error=type(error).__name__)
        return None
    return content if isinstance(content, bytes) else None


def _remember(key: str, content: bytes) -> None:
    try:
        if key:
            cache.set(key, content, _CACHED_SECONDS)
    except RedisError as error:
        log.warning("query_cache_away", error=type(error).__name__)


_lock = threading.Lock()
_gates: dict[int, limits.Gate] = {}


def _gate() -> limits.Gate:
    with _lock:
        if os.getpid() not in _gates:
            places = settings.HUB_SPARQL_PROCESSES or max(4, os.cpu_count() or 1)
            _gates[os.getpid()] = limits.Gate(places)
        return _gates[os.getpid()]
