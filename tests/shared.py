"""Rows that tests of one module start from: made once, by way of the services like all others.

A transaction around those tests holds them. Each test has one of its own inside it, and so finds
them as they were, whatever the tests before it did. Tests that do not ask for them come first.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import models, transaction
from django.test import override_settings

STORAGE = pytest.StashKey[Path]()


def rows(make):
    """Decorate what makes a module's rows; `fresh(start)` are a test's own objects of them."""

    @pytest.fixture(scope="module", name="start")
    def start(request, django_db_setup, django_db_blocker, tmp_path_factory):
        storage = request.node.stash[STORAGE] = tmp_path_factory.mktemp("storage")
        around = transaction.atomic()
        with (
            django_db_blocker.unblock(),
            override_settings(HUB_STORAGE_URL=storage.as_uri()),
            pytest.MonkeyPatch.context() as patched,
        ):
            pass_cards(patched)
            around.__enter__()
            made = make()
        yield made
        with django_db_blocker.unblock():
            transaction.set_rollback(True)
            around.__exit__(None, None, None)

    return start


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
