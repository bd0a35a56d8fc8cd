"""Downloads that are answered before Django: the same answers, for nobody else and nothing else."""

from __future__ import annotations

import io

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone

from hub.server.public_files import PublicFiles
from registry.api.throttles import AnonThrottle, UserThrottle
from registry.core import usage
from registry.models import AccessToken, DownloadCount
from registry.versions.services import registered_models, versions
from tests import factories, samples, shared

pytestmark = pytest.mark.django_db
FILES = {
    "model.onnx": samples.mlp(),
    "config.json": b'{"hidden_size": 8}',
    "weights/data.bin": b"\x00w" * 2_000_000,
}
API = "/api/v1/models/ada/net/versions/1/files"


@shared.rows
def start():
    ada = factories.somebody("ada")
    return factories.version(ada, factories.model(ada), FILES)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture(autouse=True)
def _connection():
    """Keep the connection, with its transaction, between requests, as Django's own client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


class Sent(io.BytesIO):
    """What the server would send: the part of the file that it is handed."""

    def __init__(self, part, block):
        super().__init__(part.read())
        part.close()


def environ(path, method="GET", *, scheme="http", query="", **headers):
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SCRIPT_NAME": "",
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "testserver",
        "HTTP_X_REQUEST_ID": "the-same",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": scheme,
        "wsgi.file_wrapper": Sent,
    } | headers


def asked(application, *words, **more):
    """Status, headers and body of an answer."""
    head = []
    body = application(environ(*words, **more), lambda *told: head.extend(told))
    content = b"".join(body)
    if hasattr(body, "close"):
        body.close()
    status, headers = head
    assert len(dict(headers)) == len(headers)
    return status, dict(headers), content


class Elsewhere(Exception):  # noqa: N818
    """The request went on to Django."""


def elsewhere(environ, start_response):
    raise Elsewhere


DIRECT = PublicFiles(elsewhere)
THROUGH = WSGIHandler()


def both(*words, **more):
    """What is answered directly, which is what Django answers."""
    direct = asked(DIRECT, *words, **more)
    through = asked(THROUGH, *words, **more)
    assert direct[1].items() ^ through[1].items() == set()
    assert direct == through
    return direct


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("place", ["api", "commit", "main"])
def test_the_answers_are_those_of_the_views(version, place, path):
    starts = {
        "api": API,
        "commit": f"/ada/net/resolve/{version.commit_id}",
        "main": "/ada/net/resolve/main",
    }
    address = f"{starts[place]}/{path}"
    status, headers, content = both(address)
    assert (status, content) == ("200 OK", FILES[path])
    assert both(address, "HEAD")[1:] == (headers, b"")
    assert both(address, scheme="https")[1].items() >= headers.items()
    etag = headers["ETag"]
    assert both(address, HTTP_IF_NONE_MATCH=etag)[0] == "304 Not Modified"
    assert both(address, "HEAD", HTTP_IF_NONE_MATCH=etag)[0] == "304 Not Modified"
    for range_, part in (
        ("bytes=0-0", FILES[path][:1]),
        ("bytes=5-9", FILES[path][5:10]),
        ("bytes=7-", FILES[path][7:]),
        ("bytes=-4", FILES[path][-4:]),
    ):
        assert both(address, HTTP_RANGE=range_)[::2] == ("206 Partial Content", part)
        both(address, "HEAD", HTTP_RANGE=range_)
        assert both(address, HTTP_RANGE=range_, HTTP_IF_RANGE=etag)[2] == part
        assert both(address, HTTP_RANGE=range_, HTTP_IF_RANGE='"x"')[2] == FILES[path]
    for ignored in ("bytes=9-5", "lines=1-2", "bytes=0-1,4-5"):
        assert both(address, HTTP_RANGE=ignored)[0] == "200 OK"
    with pytest.raises(Elsewhere):  # 416, with its words
        asked(DIRECT, address, HTTP_RANGE="bytes=99999999-")
    both(address, query="download=true", HTTP_COOKIE="theme=dark", HTTP_ORIGIN="https://x.org")


@pytest.fixture
def signed_in(version):
    """The header of a token, whose user is no member."""
    return {"HTTP_AUTHORIZATION": f"Bearer {factories.token(factories.somebody('bob'))}"}


def test_a_token_reads_fixed_public_files_as_in_the_views(version, signed_in):
    for start in (API, f"/ada/net/resolve/{version.commit_id}"):
        status, headers, content = both(f"{start}/config.json", **signed_in)
        assert (status, content) == ("200 OK", FILES["config.json"])
        assert both(f"{start}/config.json", "HEAD", **signed_in) == (status, headers, b"")
    usage.notes.flush()
    assert AccessToken.objects.get(user__username="bob").last_used_at is not None
    with pytest.raises(Elsewhere):  # where writers may have another commit
        asked(DIRECT, "/ada/net/resolve/main/config.json", **signed_in)


def test_a_token_that_ended_reads_nothing(version, signed_in):
    both(f"{API}/config.json", **signed_in)
    AccessToken.objects.filter(user__username="bob").update(expires_at=timezone.now())
    with pytest.raises(Elsewhere):
        asked(DIRECT, f"{API}/config.json", **signed_in)
    status, _, _ = asked(PublicFiles(THROUGH), f"{API}/config.json", **signed_in)
    assert status == "401 Unauthorized"


def test_users_are_counted_by_themselves(version, signed_in, monkeypatch):
    monkeypatch.setattr(UserThrottle, "rate", "2/min", raising=False)
    monkeypatch.setattr(AnonThrottle, "rate", "1/min", raising=False)
    served = PublicFiles(THROUGH)
    statuses = [asked(served, f"{API}/config.json", **signed_in)[0] for _ in range(3)]
    assert statuses == ["200 OK", "200 OK", "429 Too Many Requests"]
    assert asked(served, f"{API}/config.json")[0] == "200 OK"


def test_downloads_count_as_in_the_views(version):
    for path in (f"{API}/model.onnx", "/ada/net/resolve/main/model.onnx"):
        for application in (DIRECT, THROUGH):
            asked(application, path)
            asked(application, path, "HEAD")
            asked(application, path, HTTP_RANGE="bytes=0-0")
    asked(DIRECT, f"{API}/config.json")
    usage.notes.flush()
    assert DownloadCount.objects.get().downloads == 4


@pytest.mark.parametrize(
    "request_",
    [
        {"method": "POST"},
        {"method": "OPTIONS"},
        {"HTTP_AUTHORIZATION": "Bearer hf_x"},
        {"HTTP_AUTHORIZATION": "Basic YWRhOmhmX3g="},
        {"HTTP_COOKIE": "theme=dark; sessionid=x"},
        {"HTTP_HOST": "elsewhere.org"},
        {"HTTP_HOST": ""},
        {"CONTENT_LENGTH": "3"},
        {"HTTP_TRANSFER_ENCODING": "chunked"},
        {"SCRIPT_NAME": "/hub"},
        {"query": "format=html"},
    ],
)
@pytest.mark.parametrize("path", [f"{API}/model.onnx", "/ada/net/resolve/main/model.onnx"])
def test_what_is_no_plain_read_by_a_guest_goes_to_django(version, path, request_):
    both(path)
    with pytest.raises(Elsewhere):
        asked(DIRECT, path, **request_)


def test_a_media_type_is_negotiated_by_django(version):
    with pytest.raises(Elsewhere):
        asked(DIRECT, f"{API}/model.onnx", HTTP_ACCEPT="text/html")


ENDS = {
    "hidden": lambda ada, of: registered_models.edit(ada, model=of.model, visibility="private"),
    "gated": lambda ada, of: registered_models.edit(ada, model=of.model, gate="manual"),
    "deleted": lambda ada, of: registered_models.delete(ada, model=of.model),
    "moved": lambda ada, of: registered_models.move(
        ada, model=of.model, namespace=of.model.namespace, name="other"
    ),
    "withdrawn": lambda ada, of: versions.withdraw(ada, version=of, reason="It was wrong."),
}


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("end", ENDS)
def test_what_is_public_no_more_is_gone_with_the_next_request(version, end):
    paths = [
        f"{API}/model.onnx",
        f"/ada/net/resolve/{version.commit_id}/model.onnx",
        "/ada/net/resolve/main/model.onnx",
    ]
    for path in paths:
        both(path)
    ENDS[end](factories.somebody("ada"), version)
    for path in paths:
        with pytest.raises(Elsewhere):
            asked(DIRECT, path)


def test_what_nobody_may_see_goes_to_django_as_what_is_not_there(version):
    ada = factories.somebody("ada")
    factories.version(ada, factories.model(ada, "secret", visibility="private"), FILES)
    factories.draft(ada, version.model)
    for path in (
        "/api/v1/models/ada/secret/versions/1/files/model.onnx",
        "/api/v1/models/ada/net/versions/2/files/model.onnx",
        "/api/v1/models/ada/none/versions/1/files/model.onnx",
        "/ada/secret/resolve/main/model.onnx",
        "/ada/none/resolve/main/model.onnx",
        f"{API}/none.onnx",
        "/ada/net/resolve/main/none.onnx",
        "/ada/net/resolve/main/",
        "/models/ada/net",
    ):
        with pytest.raises(Elsewhere):
            asked(DIRECT, path)


def test_guests_are_counted_and_refused_as_in_the_views(version, monkeypatch):
    monkeypatch.setattr(AnonThrottle, "rate", "2/min", raising=False)
    served = PublicFiles(THROUGH)
    statuses = [asked(served, f"{API}/config.json")[0] for _ in range(3)]
    assert statuses == ["200 OK", "200 OK", "429 Too Many Requests"]


def test_damaged_bytes_are_refused_by_django_in_words(version):
    from registry.storage.files import store

    store().path(version.files.get(path="config.json").blob_id).write_bytes(b"short")
    with pytest.raises(Elsewhere):
        asked(DIRECT, f"{API}/config.json")
    status, _, content = asked(PublicFiles(THROUGH), f"{API}/config.json")
    assert status.startswith("503 ")
    assert b"The stored file does not match" in content


def test_the_hub_serves_so():
    from hub.server.wsgi import application

    assert isinstance(application, PublicFiles)
