"""Rows that tests of one module start from: made once, by way of the services like all others.

A transaction around those tests holds them. Each test has one of its own inside it, and so finds
them as they were, whatever the tests before it did. Tests that do not ask for them come first.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection, models, transaction
from django.test import override_settings

from tests import deliveries

STORAGE = pytest.StashKey[Path]()


def rows(make):
    """Decorate what makes a module's rows; `fresh(start)` are a test's own objects of them."""

    @pytest.fixture(scope="module", name="start")
    def start(request, django_db_setup, django_db_blocker, stores):
        storage = request.node.stash[STORAGE] = Path(tempfile.mkdtemp(dir=stores))
        with _rolled_back(django_db_blocker):
            with (
                django_db_blocker.unblock(),
                override_settings(HUB_STORAGE_URL=storage.as_uri()),
                pytest.MonkeyPatch.context() as patched,
            ):
                pass_cards(patched)
                for view in (GRAPHS, LISTS):
                    if not _is_read(request, view):
                        leave_out(patched, view)
                with deliveries.together():
                    made = make()
            yield made

    return start


@contextmanager
def _rolled_back(django_db_blocker):
    """A transaction that is undone at the end, also where the rows could not be made."""
    around = transaction.atomic()
    with django_db_blocker.unblock():
        around.__enter__()
    try:
        yield
    finally:
        with django_db_blocker.unblock():
            transaction.set_rollback(True)
            around.__exit__(None, None, None)


def _is_read(request, view):
    """Whether a test of this module that starts from its rows may read this view."""
    return any(
        f"no_{view.name}" not in item.fixturenames or view.name in item.fixturenames
        for item in request.session.items
        if item.path == request.path and "start" in item.fixturenames
    )


def put_last(items):
    """Order tests so that those with shared rows end their module: no other test sees the rows."""
    places = {}
    for item in items:
        places.setdefault(item.path, len(places))
    items.sort(key=lambda item: (places[item.path], "start" in item.fixturenames))


def fresh(made):
    """The same rows, read anew, so that no test sees what another wrote on its objects."""
    if isinstance(made, models.Model):
        return type(made)._default_manager.get(pk=made.pk)
    if isinstance(made, tuple | list):
        return type(made)(fresh(one) for one in made)
    return made


def pass_cards(patched):
    """Have cards pass and reports not made: shapes are asked in a process of its own."""
    patched.setattr("metadata.validation.card_check.judge", lambda _: ("passed", {"files": []}))
    patched.setattr("metadata.validation.reports.renew", lambda _: False)


@dataclass(frozen=True, slots=True)
class View:
    """What consumers of events make for readers, and the fixture that its tests ask for."""

    name: str
    consumers: tuple[str, ...]  # how their names begin
    tables: re.Pattern[str]


GRAPHS = View(
    "graphs",
    tuple(
        f"metadata.{name}"
        for name in ("graphs", "hiding", "moves", "models", "heirs", "datasets", "agents", "users")
    ),
    re.compile('"metadata_namedgraph"'),
)
LISTS = View(
    "lists",
    ("registry.search",),
    re.compile('"registry_(searchdocument|document[a-z]+|predictedspeed)"'),
)


def _without(view):
    def unless_asked(request, monkeypatch):
        if view.name in request.fixturenames:
            yield
            return
        leave_out(monkeypatch, view)
        with connection.execute_wrapper(_refusing(view)):
            yield

    return pytest.fixture(autouse=True, name=f"no_{view.name}")(unless_asked)


# Have no event make a view, where a `conftest.py` imports these for the tests of its folder: graphs
# cost a third, and documents of lists a sixth, of what a published version does. A test that tries
# to read what it did not ask for fails, since it would find nothing for this reason.
no_graphs = _without(GRAPHS)
no_lists = _without(LISTS)


def leave_out(patched, view):
    """Have events make nothing of this view."""
    from registry.catalogue import documents
    from registry.core import outbox

    names = {name for name in outbox._handlers if name.startswith(view.consumers)}
    # Whole dictionaries: their order is that of deliveries, and stays for the tests after this.
    patched.setattr(
        outbox,
        "_verbs",
        {name: verbs for name, verbs in outbox._verbs.items() if name not in names},
    )
    # Events of a module's own rows may wait for them.
    idle = dict.fromkeys(names, lambda _: None)
    patched.setattr(outbox, "_handlers", outbox._handlers | idle)
    if view is LISTS:  # which `factories.version` makes without an event
        patched.setattr(documents, "refresh", lambda _: None)


def _refusing(view):
    """Fail a question about a view by name."""

    def refuse(execute, sql, params, many, context):
        if sql.startswith("SELECT") and view.tables.search(sql):
            pytest.fail(f"a test that reads {view.name} must ask for this fixture: {sql[:200]}")
        return execute(sql, params, many, context)

    return refuse
