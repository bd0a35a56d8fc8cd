"""What pages of a version say of its record and its attestations."""

from __future__ import annotations

import re

import pytest

from registry.versions.results import result_kinds
from runners.models import Measurement
from tests import factories, shared, timed
from tests.api.provenance.readers import deliver, steal

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("provenance"),
    pytest.mark.usefixtures("graphs", "lists"),
]


@shared.rows
def start():
    """ada/net with a benchmark."""
    version = factories.version(factories.somebody("ada"))
    timed.benchmark(version, 1.5)
    return version


@pytest.fixture
def version(start, db, settings, tmp_path):
    deliver()
    return shared.fresh(start)


def text(client, page=""):
    content = client.get(f"/models/ada/net/v/1{page}").content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", content).split())


def test_the_mark_says_what_it_means_and_what_not(api, version):
    page = text(api())
    assert "Recorded. The transparency log has this manifest since" in page
    assert "and 3 signed statements about its results" in page
    assert "This does not mean that the model is good or harmless" in page


def test_the_mark_is_red_where_the_manifest_is_another(api, version):
    steal("UPDATE registry_version SET manifest_sha256 = %s WHERE id = %s", "0" * 64, version.pk)
    page = text(api())
    assert "Recorded." not in page
    assert f"the log recorded sha256:{version.manifest_sha256} when it was published" in page


def test_provenance_lists_attestations_and_what_differs(api, version):
    row = Measurement.objects.get()
    page = text(api(), "/provenance")
    assert "As signed. The results of this version are those that the hub signed" in page
    assert f"benchmark/{row.pk}" in page
    steal("UPDATE runners_measurement SET p50_ms = 0.5, p50_low_ms = 0.4, p50_high_ms = 0.6")
    page = text(api(), "/provenance")
    assert "As signed." not in page
    assert "Results differ from what was signed." in page
    assert f"p50_ms was signed as {row.p50_ms} and is shown as 0.5" in page


def test_a_draft_has_no_mark(api, ada, version):
    factories.draft(ada, version.model)
    content = text(api(ada), "/draft")
    assert "Recorded." not in content


def test_the_documentation_has_what_predicates_name(api):
    page = api().get("/docs/attestations").content.decode()
    for name in (*(kind.name for kind in result_kinds), "builder"):
        assert f'id="{name}"' in page, name
