"""A store that follows the rows: each graph is replaced whole, in the order of its revisions.

What was applied is written down only after the store has kept it, and applying a revision again
changes nothing, so it does not matter when this dies.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from django.conf import settings

from metadata.models import NamedGraph, Revision, StoreState
from metadata.rdf import parsing
from metadata.rdf.parsing import Quads
from metadata.sparql.embedded import EmbeddedStore
from metadata.sparql.remote import RemoteStore
from registry.core.shared_files import replace_text

log = structlog.get_logger(__name__)

PUBLISH_SECONDS = 1.0
_STATE = "current.json"
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class State:
    """What readers may use: up to which revision, made for which hub, and which copy of it.

    `refused` are the IRIs of graphs that are malformed, and therefore not in the store.
    """

    home: str
    store: str
    revision: int
    snapshot: str = ""
    refused: tuple[str, ...] = ()


class FileStates:
    """The state of a store in a folder of this machine, beside it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _STATE

    def read(self) -> State | None:
        try:
            values = json.loads(self._path.read_text(encoding="utf-8"))
            return State(**values | {"refused": tuple(values.get("refused", ()))})
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def write(self, state: State) -> None:
        replace_text(self._path, json.dumps(asdict(state)))


class RowStates:
    """The state of a server that every machine of the hub asks, in the database."""

    def __init__(self, store: str) -> None:
        self._store = store

    def read(self) -> State | None:
        row = StoreState.objects.filter(pk=self._store).first()
        if row is None:
            return None
        return State(row.home, row.store, row.revision, refused=tuple(row.refused))

    def write(self, state: State) -> None:
        values = {"home": state.home, "revision": state.revision, "refused": list(state.refused)}
        StoreState.objects.update_or_create(pk=self._store, defaults=values)


class Follower:
    """Keeps one store equal to the NamedGraph rows. Not for more than one thread.

    A graph that is malformed, or that the store refuses, is left out and named in the state.
    """

    def __init__(
        self,
        store: EmbeddedStore | RemoteStore,
        states: FileStates | RowStates,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """``may_write`` is asked before each write: False once another process writes here."""
        self._store = store
        self._states = states
        self._may_write = may_write
        self._ready = False
        self._applied = 0
        self._refused: set[str] = set()
        self._published: State | None = None
        self._published_at = 0.0

    def turn(self) -> bool:
        """Apply what is new and publish it when it is time; whether there was anything to do.

        Raises whatever the database and the store raise; the next turn takes up from there.
        """
        newest = _newest()
        if newest < self._applied:
            log.warning("graphs_went_back", applied=self._applied, newest=newest)
            self._ready = False
        if not self._ready:
            self._begin(newest)
        applied = self._apply() if newest > self._applied else 0
        due = time.monotonic() - self._published_at >= PUBLISH_SECONDS
        if due and (self._published is None or self._published.revision != self._applied):
            self._publish()
        return bool(applied)

    def abandon(self) -> None:
        """Let go of the store as it is: another process writes to it now."""
        self._ready, self._applied, self._published = False, 0, None
        self._store.close()

    def close(self) -> None:
        """Publish what is left and let go of the store."""
        if self._ready and (self._published is None or self._published.revision != self._applied):
            self._publish()
        self._ready = False
        self._store.close()

    def rebuild(self, tell: Callable[[], None] = lambda: None) -> None:
        """Rebuild the store from the rows; ``tell`` is called after each."""
        newest = _newest()
        count = NamedGraph.objects.exclude(nquads="").count()
        log.info("graphs_rebuild_began", graphs=count, revision=newest)
        self._refused.clear()
        self._refused |= self._store.load(self._all_graphs(count, tell))
        self._applied, self._ready = newest, True
        self._publish()
        log.info("graphs_rebuild_ended", graphs=count, revision=newest)

    def _begin(self, newest: int) -> None:
        state = self._states.read()
        if not self._store.open() or state is None or self._is_wrong(state, newest):
            self.rebuild()
            return
        self._applied, self._published, self._ready = state.revision, state, True
        self._refused = set(state.refused)
        if not self._store.has(state.snapshot):
            self._published = None

    def _is_wrong(self, state: State, newest: int) -> bool:
        """Whether the store is another hub's, of a database that was put back, or lacks graphs."""
        if (state.home, state.store) != (settings.HUB_PUBLIC_URL, self._store.name):
            return True
        if state.revision > newest:
            return True
        rows = NamedGraph.objects.values_list("iri", flat=True)
        old = set(rows.filter(revision__lte=state.revision).exclude(nquads=""))
        new = set(rows.filter(revision__gt=state.revision))
        present = self._store.graphs()
        return bool(old - present - set(state.refused) or present - old - new)

    def _apply(self) -> int:
        rows = NamedGraph.objects.filter(revision__gt=self._applied).order_by("revision")
        applied = 0
        for iri, nquads, revision in rows.values_list("iri", "nquads", "revision")[:_AT_ONCE]:
            self._replace(iri, nquads)
            self._applied = revision
            applied += 1
        return applied

    def _replace(self, iri: str, nquads: str) -> None:
        """Replace a graph; one that is refused is removed, since what it was may be hidden now."""
        self._expect_lead()
        try:
            self._store.put(iri, parsing.parse(iri, nquads))
        except parsing.RefusedGraphError as error:
            self._refuse(iri, error)
            with suppress(ValueError):  # its name may be malformed, too
                self._store.put(iri, [])
        else:
            self._refused.discard(iri)

    def _refuse(self, iri: str, error: parsing.RefusedGraphError) -> None:
        log.error("graph_refused", graph=iri, reason=str(error))
        self._refused.add(iri)

    def _all_graphs(self, count: int, tell: Callable[[], None]) -> Iterator[tuple[str, Quads]]:
        rows = NamedGraph.objects.exclude(nquads="").values_list("iri", "nquads")
        for number, (iri, nquads) in enumerate(rows.iterator(chunk_size=_AT_ONCE), 1):
            try:
                quads = parsing.parse(iri, nquads)
            except parsing.RefusedGraphError as error:
                self._refuse(iri, error)
            else:
                self._expect_lead()
                yield iri, quads
            tell()
            if number % 5000 == 0:
                log.info("graphs_rebuilding", done=number, of=count)

    def _expect_lead(self) -> None:
        if not self._may_write():
            raise OSError("another process writes to the graph store now")

    def _publish(self) -> None:
        self._expect_lead()
        snapshot = self._store.publish(self._applied)
        home, refused = settings.HUB_PUBLIC_URL, tuple(sorted(self._refused))
        state = State(home, self._store.name, self._applied, snapshot, refused)
        self._states.write(state)
        self._published, self._published_at = state, time.monotonic()
        self._store.tidy(snapshot)


def _newest() -> int:
    return Revision.objects.values_list("number", flat=True).first() or 0
