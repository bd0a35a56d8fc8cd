"""Feeds of the list and of a model, and what search engines read: public things alone."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from registry.catalogue import public_models
from registry.core import public_counts
from registry.models import RegisteredModel, SearchDocument, Version
from registry.versions.services import versions
from tests import factories, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
ATOM = "{http://www.w3.org/2005/Atom}"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
HOME = "http://testserver"


@shared.rows
def start():
    ada = factories.somebody("ada")
    factories.version(ada, factories.model(ada, "secret", visibility="private"))
    return factories.version(ada)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def parsed(content):
    return ET.fromstring(content)  # noqa: S314 - our own answers


def entries(browser, address):
    response = browser.get(address)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert response["ETag"]
    feed = parsed(response.content)
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links["self"] == HOME + address
    return [
        (entry.find(f"{ATOM}title").text, entry.find(f"{ATOM}link").get("href"))
        for entry in feed.findall(f"{ATOM}entry")
    ]


def test_the_feed_of_a_list_has_what_its_reader_may_see(guest, version):
    public = ("ada/net@1", f"{HOME}/models/ada/net/v/1")
    assert entries(guest, "/models.atom") == [public]
    assert entries(guest, "/models.atom?namespace=ada&task=image-classification") == [public]
    assert entries(guest, "/models.atom?q=nothing-has-this-name") == []
    guest.force_login(version.created_by)
    assert {title for title, _ in entries(guest, "/models.atom")} == {"ada/net@1", "ada/secret@1"}


def test_a_model_without_a_summary_is_in_the_feed(guest, ada):
    factories.version(ada, factories.model(ada, "bare", summary=""), card="")
    assert "" in SearchDocument.objects.values_list("latest__summary", flat=True)
    assert entries(guest, "/models.atom") == [("ada/bare@1", f"{HOME}/models/ada/bare/v/1")]


def test_pages_name_their_feeds(guest, version, graphs):
    html = guest.page("/models?task=image-classification&sort=name")
    assert 'href="/models.atom?task=image-classification"' in html
    assert 'type="application/atom+xml"' in html
    assert 'href="/models/ada/net/versions.atom"' in guest.page("/models/ada/net")


def test_the_feed_of_a_model_has_its_published_versions(guest, version):
    factories.draft(version.created_by, version.model)
    second = factories.version(version.created_by, version.model, message="Trained \x0b longer")
    versions.yank(actor=version.created_by, version=version, reason="Wrong.")
    address = "/models/ada/net/versions.atom"
    assert entries(guest, address) == [
        (f"ada/net@{second.number}", f"{HOME}/models/ada/net/v/{second.number}"),
        ("ada/net@1 (yanked)", f"{HOME}/models/ada/net/v/1"),
    ]
    assert guest.get("/models/ada/secret/versions.atom").status_code == 404
    assert guest.get("/models.atom?sort=colour").status_code == 400


def test_sitemaps_list_public_models_alone(guest, version, monkeypatch):
    index = parsed(guest.get("/sitemap.xml").content)
    (address,) = (one.text for one in index.iter(f"{MAP}loc"))
    assert address == f"{HOME}/sitemap-1.xml"
    guest.force_login(version.created_by)
    rows = parsed(guest.get("/sitemap-1.xml").content)
    assert [one.text for one in rows.iter(f"{MAP}loc")] == [f"{HOME}/models/ada/net"]
    assert rows.find(f"{MAP}url/{MAP}lastmod").text.endswith("Z")
    for missing in ("/sitemap-2.xml", "/sitemap-0.xml"):
        assert guest.get(missing).status_code == 404
    monkeypatch.setattr(public_models, "PAGE", 1)
    factories.version(version.created_by, factories.model(version.created_by, "more"))
    newest = parsed(guest.get("/sitemap-1.xml").content)  # at once, on the last page
    assert [one.text.rpartition("/")[2] for one in newest.iter(f"{MAP}loc")] == ["net", "more"]
    public_counts.forget()
    index = parsed(guest.get("/sitemap.xml").content)
    assert len(list(index.iter(f"{MAP}loc"))) == 2
    for number, name in ((1, "net"), (2, "more")):
        rows = parsed(guest.get(f"/sitemap-{number}.xml").content)
        assert [one.text for one in rows.iter(f"{MAP}loc")] == [f"{HOME}/models/ada/{name}"]
    assert RegisteredModel.objects.count() == Version.objects.count() == 3


@pytest.mark.capability("sparql")
def test_robots_leave_out_questions_and_accounts(guest):
    text = guest.get("/robots.txt").content.decode()
    assert "Disallow: /account\n" in text
    assert "Disallow: /query\n" in text
    assert text.endswith("Sitemap: http://testserver/sitemap.xml\n")
    assert "Disallow: /\n" not in text
