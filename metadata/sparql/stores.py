"""Which store is kept and asked, by the settings: embedded until HUB_SPARQL_URL is given."""

from __future__ import annotations

import os
import threading
from urllib.parse import urlsplit

from django.conf import settings

from metadata.sparql.embedded import SNAPSHOTS, EmbeddedStore
from metadata.sparql.leading import LeadingFollower
from metadata.sparql.pool import Pool
from metadata.sparql.remote import RemoteEngine, RemoteStore, plain
from metadata.sparql.replication import FileStates, Follower, RowStates

_lock = threading.Lock()
_pools: dict[tuple[int, str], Pool] = {}


def follower() -> Follower | LeadingFollower:
    """What keeps the store equal to the rows; for one process of this machine alone.

    Each machine has an embedded store of its own. An external server is every machine's, and one
    process at a time writes to it.
    """
    if not settings.HUB_SPARQL_URL:
        return Follower(EmbeddedStore(settings.HUB_GRAPHS), states())
    store = RemoteStore(settings.HUB_SPARQL_URL, graph_store_url())
    return LeadingFollower(lambda leads: Follower(store, states(), leads))


def states() -> FileStates | RowStates:
    """Where the state of the store lies: beside it, or in the database for an external server."""
    if settings.HUB_SPARQL_URL:
        return RowStates(plain(settings.HUB_SPARQL_URL))
    return FileStates(settings.HUB_GRAPHS)


def engine() -> Pool | RemoteEngine:
    """What computes queries for this process."""
    if settings.HUB_SPARQL_URL:
        return RemoteEngine(settings.HUB_SPARQL_URL)
    # Query processes belong to the process that started them, also if it is copied.
    key = (os.getpid(), str(settings.HUB_GRAPHS))
    with _lock:
        if key not in _pools:
            _pools[key] = Pool(settings.HUB_GRAPHS / SNAPSHOTS)
        return _pools[key]


def name() -> str:
    """The store's name, which tells its state from another's."""
    return plain(settings.HUB_SPARQL_URL) if settings.HUB_SPARQL_URL else EmbeddedStore.name


def graph_store_url() -> str:
    """Where an external server takes graphs: as given, or `store` beside where it takes queries."""
    if settings.HUB_SPARQL_STORE_URL:
        return str(settings.HUB_SPARQL_STORE_URL)
    parts = urlsplit(str(settings.HUB_SPARQL_URL))
    path = f"{parts.path.rpartition('/')[0]}/store"
    return parts._replace(path=path, query="").geturl()
