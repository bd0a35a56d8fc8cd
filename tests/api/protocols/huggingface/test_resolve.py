"""Files over the Hub protocol: git's names for them, ranges, and "no" as cheap as "yes"."""

from __future__ import annotations

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.core import usage
from registry.models import RegisteredModel
from registry.versions import git_names
from registry.versions.services import refs, versions
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import CONFIG, WEIGHTS, body, refused

pytestmark = pytest.mark.django_db
AT = "/ada/net/resolve/main"


def test_a_small_file_has_the_name_that_git_gives_it(api, version):
    for method, content in (("GET", CONFIG), ("HEAD", b"")):
        response = api()(method, f"{AT}/config.json")
        assert response.status_code == 200
        assert response["ETag"] == f'"{git_names.blob_id(CONFIG)}"'
        assert response["X-Repo-Commit"] == version.commit_id
        assert response["Content-Length"] == str(len(CONFIG))
        assert response["Accept-Ranges"] == "bytes"
        assert response["Content-Disposition"] == "attachment; filename*=UTF-8''config.json"
        assert "Content-Encoding" not in response
        assert body(response) == content


def test_a_large_file_has_its_digest_as_its_name(api, version):
    digest = hashlib.sha256(WEIGHTS).hexdigest()
    response = api().get(f"{AT}/weights/model.onnx_data", Accept_Encoding="gzip")
    assert response["ETag"] == response["X-Linked-ETag"] == f'"{digest}"'
    assert response["Content-Length"] == response["X-Linked-Size"] == str(len(WEIGHTS))
    assert "X-Xet-Hash" not in response
    assert body(response) == WEIGHTS


def test_raw_is_what_git_holds(api, version):
    pointer = git_names.pointer(hashlib.sha256(WEIGHTS).hexdigest(), len(WEIGHTS))
    raw = "/ada/net/raw/main"
    large = api().get(f"{raw}/weights/model.onnx_data")
    assert body(large) == pointer
    assert large["ETag"] == f'"{git_names.blob_id(pointer)}"'
    assert large["X-Repo-Commit"] == version.commit_id
    head = api()("HEAD", f"{raw}/weights/model.onnx_data")
    assert (head.status_code, head["Content-Length"]) == (200, str(len(pointer)))
    assert body(api().get(f"{raw}/config.json")) == CONFIG


def test_ranges(api, version):
    size = len(CONFIG)
    for asked, start, end in (
        ("bytes=0-0", 0, 1),
        ("bytes=-9", size - 9, size),
        ("bytes=5-", 5, size),
        ("bytes=3-9999", 3, size),
    ):
        response = api().get(f"{AT}/config.json", Range=asked)
        assert response.status_code == 206
        assert body(response) == CONFIG[start:end]
        assert response["Content-Range"] == f"bytes {start}-{end - 1}/{size}"
        assert response["X-Repo-Commit"] == version.commit_id
        assert response["ETag"] == f'"{git_names.blob_id(CONFIG)}"'
    response = api().get(f"{AT}/config.json", Range="bytes=9999-")
    refused(response, 416)
    assert response["Content-Range"] == f"bytes */{len(CONFIG)}"


def test_a_missing_file_names_the_commit_that_lacks_it(api, ada, version):
    for caller in (api(), api(ada)):
        for path in ("nope.json", "weights", "weights/nope", "onnx/model_q4.onnx"):
            for method in ("GET", "HEAD"):
                response = caller(method, f"{AT}/{path}")
                refused(response, 404, "EntryNotFound")
                assert response["X-Repo-Commit"] == version.commit_id


def test_no_costs_a_guest_two_questions(api, version):
    caller = api()
    caller("HEAD", f"{AT}/nope.json")  # the questions are written down once
    for revision in ("main", version.commit_id):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            caller("HEAD", f"/ada/net/resolve/{revision}/nope.json")
        assert len(asked) == 2


def test_what_is_fixed_may_be_kept_for_ever_and_what_moves_may_not(api, ada, version):
    for revision, kept in (("main", False), (version.commit_id, True), ("v1", True)):
        response = api()("HEAD", f"/ada/net/resolve/{revision}/config.json")
        assert ("immutable" in response["Cache-Control"]) is kept
        tag = response["ETag"]
        again = api().get(f"/ada/net/resolve/{revision}/config.json", If_None_Match=tag)
        assert (again.status_code, again["X-Repo-Commit"]) == (304, version.commit_id)


def test_private_bytes_are_kept_by_nobody(api, ada, bob):
    of = factories.model(ada, "hidden", visibility="private")
    secret = factories.version(ada, of, {"model.onnx": samples.mlp()})
    path = f"/ada/hidden/resolve/{secret.commit_id}/model.onnx"
    assert api(ada)("HEAD", path)["Cache-Control"] == "private, no-cache"
    refused(api(bob).get(path), 404, "RepoNotFound")
    refused(api().get(path), 401, "RepoNotFound")


def test_a_download_is_counted_where_it_begins(api, version):
    model = f"{AT}/model.onnx"
    caller = api()
    caller("HEAD", model)
    for asked in ("bytes=0-0", "bytes=5-9", "bytes=-9"):
        body(caller.get(model, Range=asked))
    body(caller.get(f"{AT}/config.json"))
    usage.notes.flush()
    assert RegisteredModel.objects.get().downloads == 0
    body(caller.get(model))
    usage.notes.flush()
    assert RegisteredModel.objects.get().downloads == 1


def test_where_transformers_js_looks_lies_the_only_model(api, version):
    response = api().get(f"{AT}/onnx/model.onnx")
    assert body(response) == samples.mlp()
    refused(api().get(f"{AT}/onnx/model_fp16.onnx"), 404, "EntryNotFound")
    tree = api().get("/api/models/ada/net/tree/main?recursive=true").json()
    assert "onnx/model.onnx" not in [entry["path"] for entry in tree]


def test_a_folder_named_onnx_is_what_its_writer_made_of_it(api, ada):
    other = samples.add_one()
    contents = {"model.onnx": samples.mlp(), "onnx/model_int8.onnx": other}
    factories.version(ada, contents=contents)
    assert body(api().get(f"{AT}/onnx/model_int8.onnx")) == other
    refused(api().get(f"{AT}/onnx/model.onnx"), 404, "EntryNotFound")


def test_withdrawn_bytes_say_why_they_are_gone(api, ada, version):
    refs.put(ada, model=version.model, name="stable", kind="alias", number=1)
    versions.withdraw(
        ada, version=version, reason="Trained on stolen data.", breaks_dependents=True
    )
    for revision in (version.commit_id, "v1", "@stable"):
        response = api().get(f"/ada/net/resolve/{revision}/config.json")
        refused(response, 410)
        assert "stolen data" in response["X-Error-Message"]
    refused(api().get(f"{AT}/config.json"), 404, "EntryNotFound")


@pytest.mark.parametrize(
    "path",
    [
        "/net/resolve/main/config.json",
        "/net/raw/main/config.json",
        "/api/models/net",
        "/api/models/net/revision/main",
        "/api/models/net/tree/main/weights?recursive=true",
        "/api/models/net/commits/main",
    ],
)
def test_a_bare_name_leads_to_the_house(api, path):
    response = api().get(path)
    assert response.status_code == 307
    where = path.replace("/net", "/zoo/net", 1)
    assert response["Location"] == where  # relative: the only kind that old clients follow


def test_a_bare_name_that_is_none_leads_nowhere(api):
    refused(api().get("/a--b/resolve/main/config.json"), 401, "RepoNotFound")


LARGE = f"{AT}/weights/model.onnx_data"
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.mark.parametrize(
    ("address", "content", "etag"),
    [
        (LARGE, WEIGHTS, DIGEST),
        (
            LARGE.replace("/resolve/", "/raw/"),
            git_names.pointer(DIGEST, len(WEIGHTS)),
            git_names.blob_id(git_names.pointer(DIGEST, len(WEIGHTS))),
        ),
        (f"{AT}/config.json", CONFIG, git_names.blob_id(CONFIG)),
        (f"{AT}/config.json".replace("/resolve/", "/raw/"), CONFIG, git_names.blob_id(CONFIG)),
    ],
)
def test_ranges_are_the_same_wherever_a_file_is_read(api, version, address, content, etag):
    def ranged(value, method="GET", **headers):
        answer = api()(method, address, Range=value, **headers)
        assert answer["ETag"] == f'"{etag}"'
        return answer.status_code, body(answer), answer.get("Content-Range")

    size = len(content)
    assert ranged("bytes=0-0") == (206, content[:1], f"bytes 0-0/{size}")
    assert ranged("bytes=-7") == (206, content[-7:], f"bytes {size - 7}-{size - 1}/{size}")
    assert ranged("bytes=5-") == (206, content[5:], f"bytes 5-{size - 1}/{size}")
    whole = (
        200,
        content,
        None,
    )  # RFC 9110 section 14.2 lets a server answer several with the whole
    assert ranged("bytes=0-1,5-6") == whole
    assert ranged("bytes=0-1", If_Range='"other"') == whole
    assert ranged("bytes=0-1", If_Range="Tue, 15 Nov 1994 12:45:26 GMT") == whole
    assert ranged("bytes=0-1", If_Range=f'"{etag}"')[0] == 206
    assert ranged("bytes=0-1", "HEAD") == (200, b"", None)
    assert api().get(address, If_None_Match=f'"{etag}"').status_code == 304
    beyond = api().get(address, Range=f"bytes={size}-")
    refused(beyond, 416)
    assert beyond["Content-Range"] == f"bytes */{size}"
