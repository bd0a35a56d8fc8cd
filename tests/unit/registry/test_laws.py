"""The laws that the database keeps, whoever writes and however."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from registry.models import Event, File, Ref, Version
from registry.services import refs
from tests import factories, samples

pytestmark = pytest.mark.django_db


def refused(sql, *params):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


def test_events_are_never_changed_or_deleted(ada):
    factories.model(ada)
    before = list(Event.objects.values())
    refused("UPDATE registry_event SET verb = 'nothing'")
    refused("DELETE FROM registry_event")
    assert list(Event.objects.values()) == before


@pytest.mark.parametrize(
    "change",
    [
        "number = 9",
        "readme = 'other'",
        "card = '{}'",
        f"manifest_sha256 = '{'0' * 64}'",
        f"commit_id = '{'0' * 40}'",
        "label = 'other'",
        "state = 'draft'",
        "state = 'submitted'",
    ],
)
def test_a_published_version_keeps_its_content(ada, change):
    version = factories.published(ada)
    refused(f"UPDATE registry_version SET {change} WHERE id = %s", version.pk)  # noqa: S608
    assert Version.objects.get() == version


def test_a_submitted_version_keeps_its_content(ada):
    version = factories.submitted(ada)
    refused("UPDATE registry_version SET readme = 'other' WHERE id = %s", version.pk)


def test_a_frozen_version_is_never_deleted(ada):
    version = factories.published(ada)
    File.objects.filter(version=version)
    refused("DELETE FROM registry_file WHERE version_id = %s", version.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        version.delete()
    assert Version.objects.get().files.count() == 2


def test_files_of_a_frozen_version_stay_and_only_derived_ones_join(ada):
    version = factories.published(ada)
    file = version.files.get(path="model.onnx")
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.filter(pk=file.pk).update(path="other.onnx")
    more = {"version": version, "blob": file.blob, "git_oid": file.git_oid}
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.create(path="more.onnx", **more)
    File.objects.create(path="opset21.onnx", derived=True, **more)
    assert version.files.count() == 3


def test_a_tag_never_moves(ada):
    model = factories.model(ada)
    factories.published(ada, model)
    second = factories.published(ada, model, {"model.onnx": samples.mlp(hidden=9)})
    refs.put(ada, model=model, name="v1", kind="tag", number=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Ref.objects.filter(name="v1").update(version=second)


def test_a_withdrawn_version_stays_withdrawn(ada):
    from registry.services import versions

    version = factories.published(ada)
    versions.withdraw(ada, version=version, reason="consent")
    refused("UPDATE registry_version SET state = 'published' WHERE id = %s", version.pk)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/..", "./a", "a\\b"])
def test_paths_stay_inside(ada, path):
    version = factories.draft(ada)
    file = version.files.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.create(version=version, path=path, blob=file.blob, git_oid=file.git_oid)


def test_yanking_without_a_reason_is_impossible(ada):
    version = factories.published(ada)
    refused("UPDATE registry_version SET state = 'yanked' WHERE id = %s", version.pk)
