"""Readers of pages, without scripts: a stranger and somebody who is signed in."""

from __future__ import annotations

import pytest
from django.test import Client


class Reader(Client):
    """A browser without scripts."""

    def page(self, path, status=200):
        response = self.get(path, HTTP_ACCEPT="text/html")
        assert response.status_code == status, response.content[:2000]
        return response.content.decode()


@pytest.fixture
def guest():
    return Reader()


@pytest.fixture
def reader(ada):
    browser = Reader()
    browser.force_login(ada)
    return browser
