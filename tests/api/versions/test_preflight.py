"""A preflight says what a push would do and what would refuse it, and writes nothing."""

from __future__ import annotations

import hashlib

import pytest

from registry.models import RegisteredModel, Upload, Version
from registry.versions.services import registered_models
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
URL = "models/ada/net/preflight"


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def announced(**contents):
    files = [
        {"path": path.replace("_", "."), "blob": sha256(content), "size": len(content)}
        for path, content in contents.items()
    ]
    return {"files": files}


def rows():
    return RegisteredModel.objects.count(), Version.objects.count(), Upload.objects.count()


def test_a_new_model(api, ada):
    before = rows()
    answer = api(ada).post(URL, announced(model_onnx=b"x" * 10, copy_bin=b"y", same_bin=b"y"))
    assert answer.status_code == 200
    assert answer.json() == {
        "creates": True,
        "missing": ["model.onnx", "copy.bin", "same.bin"],
        "missing_bytes": 11,
        "identical_to": None,
    }
    assert rows() == before


def test_an_identical_version(api, ada):
    version = factories.published(ada, label="1.0")
    card = version.readme
    files = [
        {"path": file.path, "blob": f"sha256:{file.blob_id}", "size": file.blob.size}
        for file in version.files.filter(derived=False)
        if file.path != "README.md"
    ]
    same = {"files": files, "card": card}

    def identical(**changes):
        answer = api(ada).post(URL, same | changes)
        assert answer.status_code == 200, answer.json()
        return answer.json()["identical_to"]

    assert identical() == identical(label="1.0") == 1
    assert identical(label="1.1") is None
    assert identical(card=card + "\nMore.\n") is None
    assert identical(card=None) is None
    more = {"path": "more.txt", "blob": sha256(b"more"), "size": 4}
    assert identical(files=[*files, more]) is None
    factories.draft(ada, version.model)
    assert identical() == 1
    # One that is not to be published after its checks does not count.
    factories.submitted(ada, version.model, publish=False)
    assert identical() is None


def test_what_another_user_keeps_private_is_missing(api, ada, bob):
    secret = b"only ada has it"
    factories.blob(ada, secret)
    assert api(ada).post(URL, announced(a_onnx=secret)).json()["missing"] == []
    factories.namespace(bob, "bobs")
    answer = api(bob).post("models/bobs/net/preflight", announced(a_onnx=secret))
    assert answer.json()["missing"] == ["a.onnx"]


@pytest.mark.parametrize(
    ("url", "body", "status", "code"),
    [
        (URL, announced(model_onnx=b"x") | {"card": "---\nlicense: [\n---\n"}, 422, "card-invalid"),
        (URL, {"files": [{"path": "../x", "blob": sha256(b""), "size": 0}]}, 422, "path-invalid"),
        (URL, {"files": [{"path": "x", "blob": "md5:1", "size": 0}]}, 400, "invalid-request"),
        (URL, {"files": [{"path": "x", "blob": sha256(b""), "size": -1}]}, 400, "invalid-request"),
        ("models/ada/..net/preflight", announced(model_onnx=b"x"), 422, "invalid-name"),
        ("models/nobody/net/preflight", announced(model_onnx=b"x"), 404, "not-found"),
    ],
)
def test_what_would_be_refused(api, ada, url, body, status, code):
    before = rows()
    problem(api(ada).post(url, body), status, code)
    assert rows() == before


def test_those_who_may_not_write(api, ada, bob):
    factories.published(ada)
    hidden = factories.model(ada, "hidden", visibility="private")
    assert hidden.visibility == "private"
    for name in ("net", "hidden", "absent"):
        answer = api(bob).post(f"models/ada/{name}/preflight", announced(model_onnx=b"x"))
        assert answer.status_code == 403
    assert api(None).post(URL, announced(model_onnx=b"x")).status_code == 401


def test_a_quota_that_is_too_small(api, ada):
    model = factories.model(ada)
    model.namespace.quota_bytes = 100
    model.namespace.save()
    body = {"files": [{"path": "model.onnx", "blob": sha256(b"big"), "size": 101}]}
    problem(api(ada).post(URL, body), 413, "quota-exceeded")
    body["files"][0]["size"] = 100
    assert api(ada).post(URL, body).status_code == 200


@pytest.mark.usefixtures("lists")
def test_a_label_and_a_name_that_are_taken(api, ada):
    version = factories.published(ada, label="1.0")
    body = announced(model_onnx=b"new") | {"label": "1.0"}
    problem(api(ada).post(URL, body), 409, "name-taken")
    registered_models.delete(ada, model=version.model)
    problem(api(ada).post(URL, body), 409, "name-retired")
