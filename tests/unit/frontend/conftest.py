"""Readers of pages, without scripts: a stranger and somebody who is signed in.

Most pages read neither graphs nor lists, so none are made for their tests.
"""

from __future__ import annotations

import pytest
from django.test import Client

from frontend.pages.tryouts import browser_runtime
from tests.shared import no_graphs, no_lists

__all__ = ["no_graphs", "no_lists"]


class Reader(Client):
    """A browser without scripts."""

    def page(self, path, status=200):
        response = self.get(path, HTTP_ACCEPT="text/html")
        assert response.status_code == status, response.content[:2000]
        return response.content.decode()


@pytest.fixture(autouse=True)
def no_packaged_runtime(monkeypatch, tmp_path):
    """As in a checkout where nobody has fetched the browser runtime."""
    monkeypatch.setattr(browser_runtime, "PACKAGED", tmp_path / "no-runtime")


@pytest.fixture
def guest():
    return Reader()


@pytest.fixture
def reader(ada):
    browser = Reader()
    browser.force_login(ada)
    return browser
