"""The head that every page of a version shares: facts at a glance, each with a way to its run."""

from __future__ import annotations

import re

import pytest

from runners.engine.benchmark import power
from tests import factories, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs")]
GRID = power.grid("FRA")


@shared.rows
def start():
    return factories.version(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def fact(html, title):
    strip = html.partition('<dl class="facts">')[2].partition("</dl>")[0]
    return re.search(f"<dt>{title}</dt><dd>(.*?)</dd>", strip, re.DOTALL)[1]


def test_what_is_not_known_takes_no_room(guest, version):
    html = guest.page("/models/ada/net/v/1")
    strip = html.partition('<dl class="facts">')[2].partition("</dl>")[0]
    assert "Carbon" not in strip
    head = html.partition('<dl class="facts">')[0]
    assert '<a class="tag" href="/models/ada/net/v/1/provenance#signatures">not signed</a>' in head
    assert "Nothing is measured yet" in head


def test_carbon_leads_to_its_stored_run(guest, version, lists):
    row = timed.benchmark(version, deliver=False, power=timed.DECLARED, grid=GRID)
    for page in ("", "/files"):
        html = guest.page(f"/models/ada/net/v/1{page}")
        carbon = fact(html, "Carbon, 1&#8239;000 runs")
        assert "0.00389\u202fg\u202fCO₂e" in carbon
        assert ">declared</span>" in carbon
        assert f'href="/models/ada/net/v/1/benchmarks/{row.pk}"' in carbon


@pytest.mark.parametrize("tab", ["versions", "discussions"])
def test_another_version_chosen_on_a_page_of_the_model_has_its_overview(guest, version, tab):
    answer = guest.get(f"/models/ada/net?v=1&tab={tab}")
    assert (answer.status_code, answer["Location"]) == (302, "/models/ada/net/v/1")


PAGES = {
    "Overview": ("",),
    "Try it": ("/try",),
    "Evidence": ("/conformance", "/checks"),
    "Speed": ("/benchmarks", "/carbon"),
    "Files and graph": ("/files", "/graph"),
    "Provenance": ("/provenance", "/lineage"),
    "Versions": ("/variants",),
}


def tabs(html):
    strip = html.partition('aria-label="Version pages"')[2].partition("</nav>")[0]
    return re.findall(r'<a href="([^"]*)"( aria-current="true")?>([^<]*?)\s*<', strip)


@pytest.mark.usefixtures("lists")
@pytest.mark.capability("tryouts")
@pytest.mark.capability("community")
def test_every_page_stands_under_one_tab(guest, version):
    for tab, addresses in PAGES.items():
        for address in addresses:
            html = guest.page(f"/models/ada/net/v/1{address}")
            assert [title for _, _, title in tabs(html)] == [*PAGES, "Discussions"]
            assert [title for _, on, title in tabs(html) if on] == [tab], address
            pages = html.partition('aria-label="Pages of this tab"')[2].partition("</nav>")[0]
            for other in addresses[1:]:
                assert f'href="/models/ada/net/v/1{other}"' in pages
    discussions = tabs(guest.page("/models/ada/net/discussions"))
    assert [title for _, on, title in discussions if on] == ["Discussions"]
    assert "/models/ada/net/versions" in {url for url, _, _ in tabs(guest.page("/models/ada/net"))}


def test_the_select_of_versions_keeps_the_page(guest, version):
    for tab, path in (("files", "/files"), ("versions", ""), ("nothing", "")):
        response = guest.get(f"/models/ada/net?v=1&tab={tab}")
        assert response["Location"] == f"/models/ada/net/v/1{path}"
