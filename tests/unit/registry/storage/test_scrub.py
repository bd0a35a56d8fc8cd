"""Reading storage again: all of it in its time, remembering what is wrong until it is right."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.models import Blob, BlobCheck, Upload
from registry.storage import collector, verification
from registry.storage.files import store
from registry.storage.services import blobs
from tests import factories

pytestmark = pytest.mark.django_db
SIZE = 7_200


@pytest.fixture
def ten(ada):
    """Ten blobs of the same size; returns their digests."""
    contents = (bytes([number]) * SIZE for number in range(10))
    return [factories.blob(ada, content).removeprefix("sha256:") for content in contents]


def damage(sha256):
    path = store().path(sha256)
    path.write_bytes(b"x" * path.stat().st_size)


def due():
    BlobCheck.objects.update(due_at=timezone.now())


def problems():
    return dict(verification.unsound().values_list("pk", "problem"))


def test_an_hour_reads_its_share_and_what_waits_longest_first(ten, settings):
    settings.HUB_VERIFY_DAYS = 1
    shares = [verification.verify_slice() for _ in range(6)]
    assert shares == [SIZE, SIZE, SIZE, SIZE, SIZE, SIZE]  # 10 in 24 h, one at least
    read = set(BlobCheck.objects.exclude(checked_at=None).values_list("pk", flat=True))
    assert len(read) == 6
    for _ in range(4):
        verification.verify_slice()
    assert BlobCheck.objects.exclude(checked_at=None).count() == 10
    assert verification.verify_slice() == 0  # each has its turn a day later
    oldest = BlobCheck.objects.order_by("checked_at").first().pk
    BlobCheck.objects.filter(pk=oldest).update(due_at=timezone.now())
    assert verification.verify_slice() == SIZE
    assert BlobCheck.objects.order_by("checked_at").last().pk == oldest


def test_what_waits_longest_is_read_first(ten, settings):
    settings.HUB_VERIFY_DAYS = 1
    verification.verify_slice()
    for days, sha256 in enumerate(ten):
        due_at = timezone.now() - timedelta(days=days)
        BlobCheck.objects.filter(pk=sha256).update(due_at=due_at, checked_at=None)
    verification.verify_slice()
    assert BlobCheck.objects.exclude(checked_at=None).get().pk == ten[-1]


def test_a_slice_is_bounded_in_bytes(ten, settings):
    settings.HUB_VERIFY_DAYS, settings.HUB_VERIFY_BYTES = 1 / 24, 2 * SIZE
    assert verification.verify_slice() == 2 * SIZE
    settings.HUB_VERIFY_BYTES = 2 * SIZE + 1
    assert verification.verify_slice() == 3 * SIZE
    settings.HUB_VERIFY_DAYS = 0
    assert verification.verify_slice() == 0


def test_what_is_wrong_is_remembered_until_it_reads_well(ten, settings):
    settings.HUB_VERIFY_DAYS = 1 / 24
    changed, lost, short, sound = ten[:4]
    damage(changed)
    content = store().path(lost).read_bytes()
    store().path(lost).unlink()
    store().path(short).write_bytes(b"")
    verification.verify_slice()
    assert problems() == {changed: "digest", lost: "missing", short: "size"}
    assert dict(verification.verify()).keys() == {changed, lost, short}
    store().path(lost).write_bytes(content)
    due()
    verification.verify_slice()
    assert problems().keys() == {changed, short}
    again = BlobCheck.objects.get(pk=changed).due_at - BlobCheck.objects.get(pk=sound).due_at
    assert again < timedelta(seconds=10)  # soon, and not in thirty days
    settings.HUB_VERIFY_DAYS = 30
    due()
    verification.verify_slice()
    rest = BlobCheck.objects.exclude(pk__in=[changed, short]).filter(checked_at__isnull=False)
    assert all(row.problem == "" for row in rest)


def test_bytes_that_are_uploaded_again_clear_the_alarm(api, ada, ten):
    damage(ten[0])
    list(verification.verify())
    assert problems() == {ten[0]: "digest"}
    assert api(ada).upload(bytes([0]) * SIZE)["Hub-Blob"] == f"sha256:{ten[0]}"
    assert problems() == {}
    assert list(verification.verify()) == []


def test_bytes_replaced_while_they_are_read_are_no_alarm(ada, ten, monkeypatch):
    damage(ten[0])
    real = verification._problem_of

    def replace(reader, blob):
        problem = real(reader, blob)
        if blob.pk == ten[0]:
            blobs.write(bytes([0]) * SIZE)
        return problem

    monkeypatch.setattr(verification, "_problem_of", replace)
    assert list(verification.verify()) == []
    assert problems() == {}


def test_what_is_freed_raises_no_alarm(ten):
    store().path(ten[0]).unlink()
    assert dict(verification.verify()).keys() == {ten[0]}
    Blob.objects.update(touched_at=timezone.now() - timedelta(days=2))
    Upload.objects.all().delete()
    assert collector.collect() == 10
    assert (problems(), BlobCheck.objects.count()) == ({}, 0)
    assert store().trashed() == list(store().names()) == []


def test_two_readers_take_different_blobs(ten):
    verification._enrol()
    taken = [verification._take().pk for _ in range(10)]
    assert sorted(taken) == sorted(ten)
    assert verification._take() is None
    BlobCheck.objects.update(due_at=timezone.now() - timedelta(seconds=1))  # an hour later
    assert verification._take() is not None
