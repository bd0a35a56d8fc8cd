"""Freeing and verifying storage: nothing needed is ever lost, nothing wrong goes unseen."""

from __future__ import annotations

import errno
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.datasets import services as datasets
from registry.models import Blob, File, Upload
from registry.storage import collector, verification
from registry.storage.backups import hold
from registry.storage.files import store
from registry.storage.folder import FolderStore
from registry.storage.services import blobs, uploads
from registry.versions.services import commits, versions
from tests import factories, samples

pytestmark = pytest.mark.django_db(transaction=False)


def age():
    long_ago = timezone.now() - timedelta(days=2)
    Blob.objects.update(touched_at=long_ago)
    Upload.objects.all().delete()


def collect(capture):
    with capture(execute=True):
        return collector.collect()


def test_what_a_version_needs_stays(ada, django_capture_on_commit_callbacks):
    factories.version(ada)
    factories.blob(ada, b"never used")
    age()
    assert collect(django_capture_on_commit_callbacks) == 1
    assert len(list(store().names())) == Blob.objects.count() == 2


@pytest.mark.parametrize(("hours", "freed"), [(0, 0), (23, 0), (25, 1)])
def test_what_nobody_needs_has_a_day_of_grace(
    ada, django_capture_on_commit_callbacks, hours, freed
):
    sha256 = factories.blob(ada, b"never used").removeprefix("sha256:")
    Upload.objects.all().delete()
    Blob.objects.update(touched_at=timezone.now() - timedelta(hours=hours))
    assert collect(django_capture_on_commit_callbacks) == freed
    assert store().path(sha256).exists() == Blob.objects.exists() == (not freed)


@pytest.mark.capability("backups")
def test_nothing_is_freed_while_a_backup_runs(ada, django_capture_on_commit_callbacks):
    factories.blob(ada, b"never used")
    age()
    backup = hold.begin()
    assert collect(django_capture_on_commit_callbacks) == 0
    hold.renew(backup)
    hold.end(backup, is_whole=True)
    assert collect(django_capture_on_commit_callbacks) == 1


@pytest.mark.capability("backups")
def test_a_backup_that_was_killed_holds_for_six_hours(ada, django_capture_on_commit_callbacks):
    factories.blob(ada, b"never used")
    age()
    backup = hold.begin()
    backup.seen_at -= hold.LIFETIME
    backup.save()
    with pytest.raises(hold.HoldLostError):
        hold.renew(backup)
    assert collect(django_capture_on_commit_callbacks) == 1


def test_what_somebody_uploaded_stays_until_the_upload_is_over(
    ada, django_capture_on_commit_callbacks
):
    sha256 = factories.blob(ada, b"not attached yet").removeprefix("sha256:")
    Blob.objects.update(touched_at=timezone.now() - timedelta(days=2))
    assert not collector.unneeded().exists()
    assert collect(django_capture_on_commit_callbacks) == 0
    assert store().path(sha256).exists()


def test_what_a_data_set_holds_stays_also_while_it_is_withdrawn(
    ada, django_capture_on_commit_callbacks
):
    version = factories.dataset_version(ada, contents={"test.csv": b"rows"})
    datasets.withdraw(ada, dataset=version.dataset, reason="Not ours.")
    age()
    assert not collector.unneeded().exists()
    assert collect(django_capture_on_commit_callbacks) == 0
    assert store().read(version.files.get().blob_id, 10) == b"rows"


def test_what_an_amended_commit_holds_stays(ada, django_capture_on_commit_callbacks):
    model = factories.model(ada)
    digests = []
    for content in (b"first", b"second"):
        sha256 = uploads.take(ada, model=model, content=content).sha256
        change = commits.Add("a.txt", sha256, is_own=True)
        commits.make(ada, model=model, branch="main", message="", changes=[change])
        digests.append(sha256)
    assert [file.blob_id for file in File.objects.all()] == digests[1:]
    age()
    assert collect(django_capture_on_commit_callbacks) == 0
    assert {blob.pk for blob in Blob.objects.filter(erased_at=None)} == {*digests}
    assert set(store().names()) == {*digests}


def test_withdrawn_bytes_go_and_their_digest_stays(ada, django_capture_on_commit_callbacks):
    model = factories.model(ada)
    first = factories.version(ada, model, {"model.onnx": samples.mlp(), "a.txt": b"shared"})
    factories.version(ada, model, {"model.onnx": samples.mlp(hidden=9), "a.txt": b"shared"})
    versions.withdraw(ada, version=first, reason="consent")
    age()
    assert collect(django_capture_on_commit_callbacks) == 1
    gone = first.files.get(path="model.onnx").blob
    assert gone.erased_at is not None
    assert not store().path(gone.sha256).exists()
    shared = first.files.get(path="a.txt").blob
    assert store().path(shared.sha256).exists()


def test_bytes_that_come_again_are_there_again(ada, django_capture_on_commit_callbacks):
    version = factories.version(ada)
    versions.withdraw(ada, version=version, reason="consent")
    age()
    collect(django_capture_on_commit_callbacks)
    factories.version(ada, factories.model(ada, "again"))
    assert list(verification.verify()) == []


def test_damage_is_found(ada, capsys):
    version = factories.version(ada)
    call_command("verify_blobs")
    path = store().path(version.files.get(path="model.onnx").blob_id)
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(CommandError):
        call_command("verify_blobs")
    assert "has changed on disk" in capsys.readouterr().out
    path.unlink()
    with pytest.raises(CommandError):
        call_command("verify_blobs")
    assert "is missing" in capsys.readouterr().out


def test_bytes_without_a_row_are_orphans(ada):
    factories.version(ada)
    blob = blobs.write(b"nobody's")
    Blob.objects.filter(pk=blob.pk).delete()
    assert list(verification.verify()) == [(blob.pk, "lies in storage without a row (an orphan)")]


def test_what_is_named_while_others_are_freed_stays(ada):
    digest = factories.blob(ada, b"named in time")
    age()

    def name():
        version = versions.draft(ada, model=factories.model(ada))
        version.files.create(path="a.bin", blob_id=digest[7:], git_oid="0" * 40)

    assert collector.collect(name) == 0
    assert set(store().names()) == {digest[7:]}


@pytest.mark.parametrize("change", ["keep", "free"])
def test_rows_and_bytes_change_together(ada, monkeypatch, change):
    """What fails between the two leaves both as they were."""

    def fail(*_):
        raise OSError(errno.EIO, "the disk is gone")

    if change == "free":
        factories.blob(ada, b"never used")
        age()
        monkeypatch.setattr(FolderStore, "trash", fail)
    else:
        monkeypatch.setattr(FolderStore, "commit_all", fail)
    before = Blob.objects.count()
    with pytest.raises(OSError, match="the disk is gone"):
        collector.collect() if change == "free" else blobs.write(b"new")
    assert Blob.objects.count() == before == len(list(store().names()))


def test_the_row_of_a_digest_is_locked_by_whoever_names_or_frees_it(ada, locks):
    """On PostgreSQL the row is the lock; SQLite has one writer."""
    digest = factories.blob(ada, b"never used")
    locks.clear()
    with transaction.atomic():
        assert set(blobs.hold([digest[7:]])) == {digest[7:]}
    assert locks == ["Blob"]
    age()
    locks.clear()
    assert collector.collect() == 1
    assert locks == ["Blob", "Blob"]  # to free it, then to empty the trash
    with pytest.raises(problems.BlobUnknown, match="Upload the file again"), transaction.atomic():
        blobs.hold([digest[7:]])


def test_what_a_killed_collector_left_in_the_trash_goes_or_comes_back(ada):
    digests = [factories.blob(ada, content)[7:] for content in (b"kept", b"freed")]
    for sha256 in digests:
        store().trash(sha256)
    Upload.objects.all().delete()
    Blob.objects.filter(pk=digests[1]).delete()
    blobs.empty_trash()
    assert (list(store().names()), store().trashed()) == ([digests[0]], [])


def test_orphans_are_freed_after_a_day_unless_an_upload_waits_for_them(ada, monkeypatch):
    sha256 = blobs.write(b"nobody's").sha256
    Blob.objects.filter(pk=sha256).delete()
    assert collector.collect_orphans([sha256[:2]]) == 0
    monkeypatch.setattr(blobs, "GRACE", timedelta(seconds=-1))
    upload = uploads.create(ada, length=8, claimed=sha256)
    Upload.objects.update(offset=8)
    assert collector.collect_orphans([sha256[:2]]) == 0
    upload.delete()
    assert collector.collect_orphans([sha256[:2]]) == 1
    assert (list(store().names()), Blob.objects.count()) == ([], 0)


def test_uploads_that_are_over_are_forgotten(ada):
    upload = uploads.create(ada, length=10)
    assert [path.name for path in store().root.glob("staging/*")] == [str(upload.uuid)]
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert uploads.expire() == 1
    assert list(store().root.glob("staging/*")) == []
