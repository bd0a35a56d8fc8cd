"""The documentation as pages: every file, every link, and the search."""

from __future__ import annotations

import re

import pytest

from frontend.pages.documentation import documents

ROOT = documents.FOLDER.parent
NAMES = sorted(documents._names() | {documents.DECISIONS})
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def anchors():
    """The names that links to each page may end with."""
    return {
        documents.address(name): set(re.findall(r'id="([^"]+)"', documents.document(name).html))
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_shown_and_its_links_lead_somewhere(client, anchors, name):
    place = documents.address(name)
    response = client.get(place)
    assert response.status_code == 200
    page = documents.document(name)
    assert page.title in response.content.decode()
    for target in re.findall(r'href="([^"]*)"', page.html):
        path, _, anchor = target.partition("#")
        path = path or place
        if path.startswith("/docs"):
            assert path in anchors, target
            assert not anchor or anchor in anchors[path], target
        else:
            assert path.startswith("http") or client.get(path).status_code == 200, target


def test_every_file_is_in_the_navigation(client):
    addresses = {link["address"] for group in documents.navigation() for link in group["links"]}
    assert addresses == {documents.address(name) for name in NAMES if name and "/" not in name}
    shown = client.get("/docs/decisions").content.decode()
    for name in NAMES:
        if name.startswith("decisions/"):
            assert f'href="/docs/{name}"' in shown


def test_files_of_the_project_are_linked_where_they_are(client):
    """A link out of the folder is for readers of the repository; a page has its words alone."""
    assert "](../SECURITY.md)" in (documents.FOLDER / "security.md").read_text("utf-8")
    page = documents.document("security").html
    assert "SECURITY.md" in page
    assert "../" not in re.findall(r'href="([^"]*)"', page)


@pytest.mark.parametrize(
    "name", ["nothing", "../README", "..%2fREADME", "decisions/..", "README", "openapi"]
)
def test_what_is_no_page_is_not_found(client, name):
    assert client.get(f"/docs/{name}").status_code == 404


def test_a_search_finds_sections_by_all_words(client):
    shown = client.get("/docs", {"q": "HUB_LIMITS_CLIENT_RATE"}).content.decode()
    assert 'href="/docs/operate#' in shown
    hits = documents.search("retry seconds")
    assert hits
    for hit in hits:
        place, _, anchor = hit["address"].partition("#")
        page = documents.document(place.removeprefix("/docs").strip("/"))
        section = next(each for each in page.sections if each.heading.anchor == anchor)
        whole = f"{page.title} {section.heading.text} {section.text}".lower()
        assert "retry" in whole
        assert "seconds" in whole
    assert "No section" in client.get("/docs", {"q": "xyzzy"}).content.decode()


def test_what_is_searched_for_is_text(client):
    shown = client.get("/docs", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in shown
