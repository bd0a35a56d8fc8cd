"""The laws that the database keeps, whoever writes and however."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from registry.models import Blob, Event, File, Ref, Upload, Version
from registry.versions.services import refs
from tests import factories, samples, shared

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


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
def test_a_published_version_keeps_its_content(published, change):
    before = Version.objects.values().get()
    refused(f"UPDATE registry_version SET {change} WHERE id = %s", published.pk)  # noqa: S608
    assert Version.objects.values().get() == before


def test_a_submitted_version_keeps_its_content(ada):
    version = factories.submitted(ada)
    refused("UPDATE registry_version SET readme = 'other' WHERE id = %s", version.pk)


def test_a_frozen_version_is_never_deleted(published):
    refused("DELETE FROM registry_file WHERE version_id = %s", published.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        published.delete()
    assert Version.objects.get().files.count() == 2


@pytest.mark.parametrize("state", ["submitted", "published", "yanked", "withdrawn"])
def test_only_drafts_are_deleted(ada, state):
    version = factories.draft(ada)
    version.files.all().delete()
    Version.objects.update(
        state=state,
        manifest_sha256="0" * 64,
        commit_id="0" * 40,
        reason="consent",
        published_at=timezone.now(),
    )
    refused("DELETE FROM registry_version WHERE id = %s", version.pk)


@pytest.mark.parametrize("change", ["size = size + 1", f"sha256 = '{'0' * 64}'"])
def test_a_blob_keeps_its_digest_and_size(ada, change):
    factories.blob(ada, b"never attached")
    Upload.objects.all().delete()
    before = Blob.objects.values().get()
    refused(f"UPDATE registry_blob SET {change}")  # noqa: S608
    assert Blob.objects.values().get() == before


def test_files_of_a_frozen_version_stay_and_only_derived_ones_join(published):
    file = published.files.get(path="model.onnx")
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.filter(pk=file.pk).update(path="other.onnx")
    more = {"version": published, "blob": file.blob, "git_oid": file.git_oid}
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.create(path="more.onnx", **more)
    File.objects.create(path="opset21.onnx", derived=True, **more)
    assert published.files.count() == 3


def test_a_tag_never_moves(ada, published):
    second = factories.version(ada, published.model, {"model.onnx": samples.mlp(hidden=9)})
    refs.put(ada, model=published.model, name="v1", kind="tag", number=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Ref.objects.filter(name="v1").update(version=second)


def test_a_withdrawn_version_stays_withdrawn(ada, published):
    from registry.versions.services import versions

    versions.withdraw(ada, version=published, reason="consent")
    refused("UPDATE registry_version SET state = 'published' WHERE id = %s", published.pk)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/../b", "a/..", "./a", "a\\b"])
def test_paths_stay_inside(ada, path):
    version = factories.draft(ada)
    file = version.files.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.create(version=version, path=path, blob=file.blob, git_oid=file.git_oid)


def test_yanking_without_a_reason_is_impossible(published):
    refused("UPDATE registry_version SET state = 'yanked' WHERE id = %s", published.pk)
