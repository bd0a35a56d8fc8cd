"""Copying storage: whole, verified, and again after an interruption."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from hub.protocol import problems
from registry.models import Blob
from registry.storage.files import store, store_at
from registry.storage.services import blobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(tmp_path):
    return store_at((tmp_path / "other").as_uri())


@pytest.fixture
def copy(tmp_path, capsys):
    def run():
        try:
            call_command("copy_storage", (tmp_path / "other").as_uri())
        finally:
            lines.extend(capsys.readouterr().out.splitlines())

    lines = []
    run.lines = lines
    return run


def test_every_blob_is_copied_and_none_is_removed(copy, target):
    digests = sorted(blobs.write(str(number).encode()).pk for number in range(5))
    copy()
    assert list(target.names()) == list(store().names()) == digests
    assert "all files are stored at" in copy.lines[-1]


def test_a_copy_goes_on_where_it_was_interrupted(copy, target, monkeypatch):
    digests = sorted(blobs.write(str(number).encode()).pk for number in range(5))
    commit = type(target).commit

    def interrupted(self, name, sha256):
        if sha256 == digests[2]:
            raise problems.Unavailable("The storage does not respond.")
        commit(self, name, sha256)

    with monkeypatch.context() as patch:
        patch.setattr(type(target), "commit", interrupted)
        with pytest.raises(CommandError, match="Run the command again"):
            copy()
    assert list(target.names()) == digests[:2]
    written = [target.find(sha256).written_at for sha256 in digests[:2]]
    copy()
    assert list(target.names()) == digests
    assert [target.find(sha256).written_at for sha256 in digests[:2]] == written


def test_a_short_blob_at_the_target_is_replaced(copy, target):
    digest = blobs.write(b"whole").pk
    copy()
    target.path(digest).write_bytes(b"wh")
    copy()
    assert target.read(digest, 100) == b"whole"


def test_damaged_and_missing_blobs_are_reported_and_the_rest_is_copied(copy, target):
    damaged, missing, whole = (blobs.write(str(number).encode()).pk for number in range(3))
    store().path(damaged).write_bytes(b"x")
    store().path(missing).unlink()
    with pytest.raises(CommandError, match="2 files could not be copied"):
        copy()
    assert set(copy.lines) == {
        f"sha256:{damaged} has other bytes than its digest names",
        f"sha256:{missing} is missing",
    }
    assert list(target.names()) == [whole]
    assert list(target.root.glob("staging/*")) == []
    assert Blob.objects.count() == 3


@pytest.mark.capability("s3")
def test_an_unknown_kind_of_storage():
    with pytest.raises(CommandError, match="use file:///folder or s3://bucket/prefix"):
        call_command("copy_storage", "gs://bucket")
