"""Many files of a draft in one request: what is taken, what is left, and what refuses all."""

from __future__ import annotations

import base64
import hashlib

import pytest

from registry.models import File, RegisteredModel, Upload
from tests import factories, samples
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
URL = "models/ada/net/versions/1/files"


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def row(path, content, *, sent=True):
    named = {"path": path, "blob": digest(content)}
    return named | ({"content": base64.b64encode(content).decode()} if sent else {})


@pytest.fixture
def draft(ada):
    return factories.draft(ada)


def paths(draft):
    return sorted(File.objects.filter(version=draft).values_list("path", flat=True))


def test_small_files_are_stored_and_what_is_unknown_is_named(api, ada, draft):
    before = paths(draft)
    files = [row("a.txt", b"a"), row("b/c.txt", b""), row("big.bin", b"later", sent=False)]
    answer = api(ada).post(URL, {"files": files})
    assert (answer.status_code, answer.json()) == (200, {"missing": ["big.bin"]})
    assert paths(draft) == sorted([*before, "a.txt", "b/c.txt"])
    assert b"".join(api(ada).get(f"{URL}/a.txt").streaming_content) == b"a"
    again = api(ada).post(URL, {"files": [row("copy.txt", b"a", sent=False)]})
    assert again.json() == {"missing": []}


@pytest.mark.parametrize(
    ("bad", "status", "code"),
    [
        (row("../x", b"x"), 422, "path-invalid"),
        (row("x.onnx", b""), 422, "not-onnx"),
        (row("README.md", b"# Card"), 400, "invalid-request"),
        (row("x", b"x") | {"content": "?"}, 400, "invalid-request"),
        (row("x", b"x") | {"blob": digest(b"y")}, 422, "digest-mismatch"),
        (row("x", b"x") | {"blob": "x"}, 400, "invalid-request"),
        (row("a.txt", b"other"), 400, "invalid-request"),
        (row("a.txt/x", b"x"), 422, "path-invalid"),
    ],
)
def test_one_that_is_wrong_refuses_all(api, ada, draft, bad, status, code):
    before = paths(draft)
    answer = api(ada).post(URL, {"files": [row("a.txt", b"a"), bad]})
    problem(answer, status, code)
    assert paths(draft) == before


def test_the_digest_of_a_hidden_file_is_no_right_to_it(api, ada, bob, draft):
    secret = factories.model(bob, "secret", visibility="private")
    factories.published(bob, secret, {"model.onnx": samples.mlp(), "key.txt": b"hidden"})
    answer = api(ada).post(URL, {"files": [row("key.txt", b"hidden", sent=False)]})
    assert answer.json() == {"missing": ["key.txt"]}
    assert "key.txt" not in paths(draft)


def test_who_may_not_write_stores_nothing(api, ada, bob, draft):
    uploads = Upload.objects.count()
    RegisteredModel.objects.update(visibility="public")
    for caller in (api(bob), api()):
        answer = caller.post(URL, {"files": [row("a.txt", b"a")]})
        assert answer.status_code in (401, 403, 404)
    assert Upload.objects.count() == uploads


def test_a_version_that_is_frozen_takes_nothing(api, ada):
    factories.published(ada)
    problem(api(ada).post(URL, {"files": [row("a.txt", b"a")]}), 409, "state-conflict")


def test_the_quota_holds(api, ada, draft):
    draft.model.namespace.quota_bytes = 10
    draft.model.namespace.save()
    problem(api(ada).post(URL, {"files": [row("a.txt", b"a" * 100)]}), 413, "quota-exceeded")
