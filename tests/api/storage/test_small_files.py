"""Small files that come inside a request are stored together, however many there are."""

from __future__ import annotations

import base64

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hub.protocol import digests, problems
from registry.models import Blob, BlobCheck, Upload
from registry.storage.files import store
from registry.storage.services import uploads
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db):
    return factories.somebody("ada")


@pytest.fixture
def model(ada):
    return factories.model(ada)


def contents(count, start=0):
    return [f"file {number}".encode() for number in range(start, start + count)]


def queries(work):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        work()
    return len(captured)


def test_the_number_of_queries_does_not_depend_on_that_of_files(ada, model):
    uploads.take(ada, model=model, content=b"warm")
    few = queries(lambda: uploads.take_all(ada, model=model, contents=contents(2)))
    many = queries(lambda: uploads.take_all(ada, model=model, contents=contents(75, start=10)))
    assert many == few


def test_every_file_is_a_blob_and_counts_once(ada, model):
    taken = contents(5)
    rows = uploads.take_all(ada, model=model, contents=[*taken, taken[0]])
    assert {sha256: store().read(sha256, 100) for sha256 in rows} == {
        digests.hash_bytes(content): content for content in taken
    }
    assert set(Blob.objects.values_list("pk", flat=True)) == set(rows)
    again = uploads.take_all(ada, model=model, contents=taken[:2] + contents(1, start=9))
    assert len(again) == 3
    stored = Upload.objects.filter(owner=ada, model=model, state=Upload.State.STORED)
    assert sorted(stored.values_list("blob", flat=True)) == sorted({*rows, *again})
    assert uploads.take_all(ada, model=model, contents=[]) == {}


def test_what_was_unsound_is_replaced(ada, model):
    [sha256] = uploads.take_all(ada, model=model, contents=[b"sound"])
    BlobCheck.objects.create(blob_id=sha256, problem="digest", due_at=timezone.now())
    store().path(sha256).write_bytes(b"spoilt")
    uploads.take_all(ada, model=model, contents=[b"sound", b"other"])
    assert store().read(sha256, 100) == b"sound"
    assert not BlobCheck.objects.exists()


def test_files_that_exceed_the_quota_leave_nothing(ada, model, settings):
    settings.HUB_LIMITS_NAMESPACE_BYTES = 50
    with pytest.raises(problems.QuotaExceeded):
        uploads.take_all(ada, model=model, contents=contents(20))
    assert not Blob.objects.exists()
    assert not Upload.objects.exists()
    assert not list(store().staged_before(float("inf")))


def test_a_wrong_digest_among_them_stores_none(ada, model, api):
    factories.draft(ada, model)
    rows = [
        {
            "path": f"{number}.bin",
            "blob": digests.format(digests.hash_bytes(b"right")),
            "content": base64.b64encode(content).decode(),
        }
        for number, content in enumerate([b"right", b"wrong"])
    ]
    before = Blob.objects.count()
    answer = api(ada).post(f"/api/v1/models/{model.ref}/versions/1/files", {"files": rows})
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (
        problems.DigestMismatch.status,
        "digest-mismatch",
    )
    assert Blob.objects.count() == before


def test_a_preflight_and_its_files_may_be_as_many_as_a_version_holds(ada, model, api, settings):
    names = [f"{number}.bin" for number in range(settings.HUB_LIMITS_FILES)]
    blob = digests.format(digests.hash_bytes(b""))
    files = [{"path": name, "blob": blob, "size": 0} for name in names]
    address = f"/api/v1/models/{model.ref}/preflight"
    answer = api(ada).post(address, {"files": files, "card": None, "label": ""})
    assert answer.status_code == 200, answer.content[:300]
    assert len(answer.json()["missing"]) == len(names) == 5_000
    more = [*files, {"path": "more.bin", "blob": blob, "size": 0}]
    refused = api(ada).post(address, {"files": more, "card": None, "label": ""})
    assert refused.status_code >= 400
