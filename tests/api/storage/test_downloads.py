"""Bytes over HTTP: ranges, conditions, and never other bytes than were published."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from registry.core import usage
from registry.models import RegisteredModel
from registry.storage.files import store
from tests import factories, samples, shared
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
CONTENT = bytes(range(256)) * 10
URL = "models/ada/net/versions/1/files/data.bin"


@shared.rows
def start():
    contents = {"model.onnx": samples.mlp(), "data.bin": CONTENT}
    return factories.published(factories.somebody("ada"), contents=contents)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def body(response):
    return b"".join(response.streaming_content) if response.streaming else response.content


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=2550-", 2550, 2560),
        ("bytes=-10", 2550, 2560),
        ("bytes=2000-99999", 2000, 2560),
        ("bytes=-99999", 0, 2560),
    ],
)
def test_ranges(api, version, asked, first, end):
    response = api().get(URL, Range=asked)
    assert response.status_code == 206
    assert body(response) == CONTENT[first:end]
    assert response["Content-Range"] == f"bytes {first}-{end - 1}/2560"
    assert response["Content-Length"] == str(end - first)


@pytest.mark.parametrize(
    "asked", ["bytes=5-1", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=-"]
)
def test_what_is_no_range_gets_everything(api, version, asked):
    response = api().get(URL, Range=asked)
    assert response.status_code == 200
    assert body(response) == CONTENT


def test_beyond_the_end(api, version):
    response = api().get(URL, Range="bytes=2560-")
    problem(response, 416, "range-not-satisfiable")
    assert response["Content-Range"] == "bytes */2560"


def test_headers_and_conditions(api, version):
    sha256 = version.files.get(path="data.bin").blob_id
    response = api().get(URL)
    assert response["ETag"] == f'"{sha256}"'
    assert "immutable" in response["Cache-Control"]
    assert response["Content-Disposition"].startswith("attachment")
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Content-Type"] == "application/octet-stream"
    assert body(response) == CONTENT
    assert api().get(URL, If_None_Match=f'"{sha256}"').status_code == 304
    stale = api().get(URL, Range="bytes=0-3", If_Range='"other"')
    assert (stale.status_code, body(stale)) == (200, CONTENT)
    head = api()("HEAD", URL)
    assert (head.status_code, head["Content-Length"], head.content) == (200, "2560", b"")


def test_a_name_stays_inside_its_header(api, ada):
    name = "a 'b'; x=1, é%.bin"
    factories.version(ada, contents={"model.onnx": samples.mlp(), f"f/{name}": CONTENT})
    response = api().get(f"models/ada/net/versions/1/files/f/{quote(name)}")
    assert body(response) == CONTENT
    assert response["Content-Disposition"] == (
        "attachment; filename*=UTF-8''a%20%27b%27%3B%20x%3D1%2C%20%C3%A9%25.bin"
    )


def test_private_bytes_are_not_kept_by_shared_caches(api, ada):
    factories.published(
        ada, factories.model(ada, visibility="private"), {"model.onnx": samples.mlp()}
    )
    response = api(ada).get("models/ada/net/versions/1/files/model.onnx")
    assert body(response) == samples.mlp()
    assert response["Cache-Control"] == "private, no-cache"


def test_a_damaged_blob_is_refused_rather_than_served_wrong(api, version):
    sha256 = version.files.get(path="data.bin").blob_id
    path = store().path(sha256)
    path.write_bytes(b"short")
    problem(api().get(URL), 503, "unavailable")
    path.unlink()
    problem(api().get(URL), 503, "unavailable")


@pytest.mark.usefixtures("lists")
def test_a_download_counts_once(api, version):
    model = "models/ada/net/versions/1/files/model.onnx"
    assert body(api().get(model)) == samples.mlp()
    assert api()("HEAD", model).status_code == 200
    assert body(api().get(model, Range="bytes=5-9")) == samples.mlp()[5:10]
    assert RegisteredModel.objects.get().downloads == 0
    usage.notes.flush()
    assert RegisteredModel.objects.get().downloads == 1
    assert api().get("models/ada/net").json()["downloads"] == 1


def test_blobs_by_digest(api, version):
    sha256 = version.files.get(path="data.bin").blob_id
    assert body(api().get(f"blobs/{sha256}")) == CONTENT
    problem(api().get(f"blobs/{'0' * 64}"), 404, "not-found")
