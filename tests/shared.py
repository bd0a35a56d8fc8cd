"""Rows that tests of one module start from: made once, by way of the services like all others.

A transaction around those tests holds them. Each test has one of its own inside it, and so finds
them as they were, whatever the tests before it did. Tests that do not ask for them come first.
"""

from __future__ import annotations

import tempfile
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
        around = transaction.atomic()
        with (
            django_db_blocker.unblock(),
            override_settings(HUB_STORAGE_URL=storage.as_uri()),
            pytest.MonkeyPatch.context() as patched,
        ):
            pass_cards(patched)
            if not _reads_graphs(request):
                leave_out_graphs(patched)
            around.__enter__()
            with deliveries.together():
                made = make()
        yield made
        with django_db_blocker.unblock():
            transaction.set_rollback(True)
            around.__exit__(None, None, None)

    return start


def _reads_graphs(request):
    """Whether a test of this module that starts from its rows may read graphs."""
    return any(
        "no_graphs" not in item.fixturenames or "graphs" in item.fixturenames
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


GRAPHS = ("graphs", "hiding", "moves", "models", "heirs", "datasets", "agents", "users")


@pytest.fixture(autouse=True)
def no_graphs(request, monkeypatch):
    """Have no event make a graph, which costs a third of what a published version does.

    A `conftest.py` imports this for the tests of its folder. One that reads graphs asks for
    `graphs`; any other that tries to read some fails, since it would find none for this reason.
    """
    if "graphs" in request.fixturenames:
        yield
        return
    leave_out_graphs(monkeypatch)
    with connection.execute_wrapper(refuse_graphs):
        yield


def leave_out_graphs(patched):
    """Have events make no graphs."""
    from registry.core import outbox

    names = {f"metadata.{name}" for name in GRAPHS}
    # Whole dictionaries: their order is that of deliveries, and stays for the tests after this.
    patched.setattr(
        outbox,
        "_verbs",
        {name: verbs for name, verbs in outbox._verbs.items() if name not in names},
    )
    # Events of a module's own rows may wait for them.
    idle = dict.fromkeys(names, lambda _: None)
    patched.setattr(outbox, "_handlers", outbox._handlers | idle)


def refuse_graphs(execute, sql, params, many, context):
    """Fail a question about graphs by name."""
    if sql.startswith("SELECT") and "metadata_namedgraph" in sql:
        pytest.fail(f"a test that reads graphs must ask for the fixture `graphs`: {sql[:200]}")
    return execute(sql, params, many, context)
