"""Who is told of what: events of versions that were not released concern few subscribers."""

from __future__ import annotations

import pytest

from registry import outbox
from registry.models import Delivery, Version
from registry.services import versions
from tests import factories

pytestmark = pytest.mark.django_db
ABOUT_RELEASED = {
    "metadata.graphs",
    "metadata.report",
    "registry.onnx_hub",
    "registry.search",
    "runners.proofs",
}


def waiting(version):
    rows = Delivery.objects.filter(event__subject_kind="version", event__subject_id=str(version.pk))
    return set(rows.values_list("consumer", flat=True))


def test_what_concerns_released_versions_begins_with_their_publication(ada):
    version = factories.draft(ada)
    versions.submit(ada, version=version, publish=False)
    assert waiting(version) == {"runners.jobs", "metadata.card"}
    factories.work()
    assert waiting(version) == set()
    version = Version.objects.get(pk=version.pk)
    assert version.state == Version.State.SUBMITTED
    versions.publish(ada, version=version)
    assert waiting(version) == ABOUT_RELEASED | {"metadata.heirs"}


def test_who_waits_for_a_release_is_told_of_it():
    told = set(outbox.consumers_of("version.published", released=True))
    assert outbox._released == ABOUT_RELEASED
    assert told >= ABOUT_RELEASED
    assert not ABOUT_RELEASED & set(outbox.consumers_of("variant.added", released=False))
