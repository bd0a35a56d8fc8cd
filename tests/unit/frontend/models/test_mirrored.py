"""Where a mirrored version came from, on its page; and the mirrors of a namespace, on its own."""

from __future__ import annotations

import re
from html import unescape

import pytest

from hub.protocol import problems
from hub.protocol.mirrors import Origin, Statement, VersionRecord
from registry.mirrors.services import mirrors, versions
from registry.models import Mirror, MirroredModel, MirroredVersion
from registry.versions import dependents
from tests import factories

pytestmark = [
    pytest.mark.capability("mirrors"),
    pytest.mark.django_db,
    pytest.mark.usefixtures("graphs"),
]
SOURCE = "https://hub.example.org"
HOSTILE = '"><script>alert(1)</script>'


def words(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])))


def add(ada, settings):
    settings.HUB_MIRROR_SOURCES = [SOURCE]
    space = ada.memberships.get().namespace
    return mirrors.add(ada, source=f"{SOURCE}/zoo/net", namespace=space)


def test_evidence_of_the_source_is_stated_by_it(guest, ada, settings):
    version = factories.version(ada)
    record = VersionRecord(
        number=1, state="published", label="", message="", branch="main", reason="",
        commit_id="c" * 40, manifest_sha256=version.manifest_sha256, author=HOSTILE,
        published_at="2026-01-31T10:00:00Z", files=(),
        statements=(Statement("conformance", f"default: bundled {HOSTILE}", "passed"),),
    )  # fmt: skip
    versions.adopt(version.model, version, record, Origin(SOURCE, "zoo/net"))
    mirror = add(ada, settings)
    MirroredModel.objects.create(
        mirror=mirror, ref="zoo/net", model=version.model, synced_at=mirror.created_at
    )
    page = guest.page("/models/ada/net/v/1/provenance")
    assert f"Mirrored from {SOURCE}/zoo/net, last synced" in words(page)
    assert f"Stated by {SOURCE}" in words(page)
    assert "This hub did not measure these results." in words(page)
    assert "<script>alert" not in page
    # It is no result of this hub's.
    assert SOURCE not in guest.page("/models/ada/net/v/1/conformance")


def test_a_version_made_here_has_no_source(guest, ada):
    factories.version(ada)
    assert "Mirrored from" not in guest.page("/models/ada/net/v/1/provenance")


def test_a_source_that_changes_a_version_is_a_conflict_and_its_origin_stays(ada):
    version = factories.version(ada)
    row = MirroredVersion.objects.create(
        model=version.model, number=1, version=version, state="stored", url=SOURCE, ref="zoo/net",
        manifest_sha256=version.manifest_sha256, commit_id="c" * 40,
    )  # fmt: skip
    versions.conflict(version.model, 1, "0" * 64, Origin(SOURCE, "zoo/net"))
    row.refresh_from_db()
    assert (row.state, row.version, row.manifest_sha256) == (
        "conflict", version, version.manifest_sha256,
    )  # fmt: skip
    versions.settle(row)
    assert (row.state, row.problem) == ("stored", "")


def test_the_end_of_a_version_names_the_mirror_that_brought_it(ada, bob, settings):
    version = factories.version(ada)
    assert dependents.dependents(ada, version) == []
    record = VersionRecord(
        number=1, state="published", label="", message="", branch="main", reason="",
        commit_id="c" * 40, manifest_sha256=version.manifest_sha256, author="zoo",
        published_at="2026-01-31T10:00:00Z", files=(), statements=(),
    )  # fmt: skip
    versions.adopt(version.model, version, record, Origin(SOURCE, "zoo/net"))
    mirror = add(ada, settings)
    MirroredModel.objects.create(mirror=mirror, ref="zoo/net", model=version.model)
    row = dependents.VersionDependent("mirror", f"{mirror.pk} of {SOURCE}/zoo/net")
    assert dependents.dependents(ada, version) == [row]
    with pytest.raises(problems.NotAllowed):
        dependents.dependents(bob, version)


def test_owners_see_the_mirrors_of_a_namespace(reader, ada, settings):
    mirror = add(ada, settings)
    Mirror.objects.filter(pk=mirror.pk).update(error=f"{SOURCE} does not answer {HOSTILE}")
    page = reader.page("/account/namespaces/ada")
    assert f"{SOURCE}/zoo/net" in words(page)
    assert f"{SOURCE} does not answer" in words(page)
    assert "<script>alert" not in page
