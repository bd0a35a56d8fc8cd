"""The head that every page of a version shares: facts at a glance, each with a way to its run."""

from __future__ import annotations

import re

import pytest

from runners.engine.benchmark import power
from tests import factories, proven, shared, timed

pytestmark = pytest.mark.django_db
GRID = power.grid("FRA")


@shared.rows
def start():
    return factories.listed(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def fact(html, title):
    strip = html.partition('<dl class="facts">')[2].partition("</dl>")[0]
    return re.search(f"<dt>{title}</dt><dd>(.*?)</dd>", strip, re.DOTALL)[1]


def test_what_is_not_known_is_said(guest, version):
    html = guest.page("/models/ada/net/v/1")
    for title in ("Fastest measured", "Carbon, 1&#8239;000 runs"):
        assert "not measured" in fact(html, title)
    assert "not run" in fact(html, "Conformance")
    head = html.partition('<dl class="facts">')[0]
    assert '<a class="tag" href="/models/ada/net/v/1/provenance">not signed</a>' in head


def test_measured_facts_lead_to_their_stored_runs(guest, version):
    row = timed.benchmark(version, deliver=False, power=timed.DECLARED, grid=GRID)
    for page in ("", "/files"):
        html = guest.page(f"/models/ada/net/v/1{page}")
        run = f'href="/models/ada/net/v/1/benchmarks/{row.pk}"'
        assert run in fact(html, "Fastest measured")
        assert "/devices/" not in fact(html, "Fastest measured")
        carbon = fact(html, "Carbon, 1&#8239;000 runs")
        assert "0.00389\u202fg\u202fCO₂e" in carbon
        assert ">declared</span>" in carbon
        assert run in carbon


def test_a_glyph_for_each_runtime(guest, version):
    proven.conformance(version, [proven.measure("reference"), proven.measure("determinism")])
    told = fact(guest.page("/models/ada/net/v/1"), "Conformance")
    assert 'role="img" aria-label="ONNX Runtime: passed"' in told
    assert told.count('class="glyph pass"') == 1
    assert ">1 of 1 runtime passes</a>" in told
    proven.conformance(version, [proven.measure("determinism", "failed")])
    told = fact(guest.page("/models/ada/net/v/1"), "Conformance")
    assert 'aria-label="ONNX Runtime: failed"' in told
    assert ">0 of 1 runtime pass</a>" in told
