"""Addresses that clients of the Hub protocol print lead people to pages."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import factories, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/ada/net", ""),
        ("/ADA/Net", ""),
        ("/ada/net/tree/main", "/v/1/files"),
        ("/ada/net/tree/v1/some/folder", "/v/1/files"),
        ("/ada/net/tree/{sha}", "/v/1/files"),
        ("/ada/net/blob/main/model.onnx", "/v/1/files"),
        ("/ada/net/commits/main", "/versions"),
        ("/ada/net/commit/{sha}", "/v/1"),
    ],
)
def test_printed_addresses_lead_to_pages(version, address, page, graphs):
    reader = Client(headers={"Accept": "text/html"})
    led = reader.get(address.format(sha=version.commit_id))
    assert led.status_code == 302
    assert led["Location"].removeprefix("http://testserver").endswith(f"/models/ada/net{page}")
    assert reader.get(f"/models/ada/net{page}").status_code == 200


def test_what_is_not_there_is_a_page_that_says_so(version, ada, bob):
    factories.version(ada, factories.model(ada, "hidden", visibility="private"))
    reader = Client(headers={"Accept": "text/html"})
    reader.force_login(bob)
    for address in (
        "/ada/missing", "/ada/hidden", "/nobody/net", "/ada/net/tree/no-branch",
        "/ada/net/blob/main/nothing.bin", "/ada/hidden/tree/main",
    ):  # fmt: skip
        answer = reader.get(address)
        assert answer.status_code == 404, address
        assert answer["Content-Type"].startswith("text/html")
