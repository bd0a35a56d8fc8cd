"""Versions of data sets over the API: published by writers, read and downloaded by everybody."""

from __future__ import annotations

import hashlib

import pytest
from django.db import IntegrityError, transaction

from hub.protocol import problems
from registry.datasets import selectors
from registry.models import (
    Dataset,
    DatasetFile,
    DatasetVersion,
    Event,
    Membership,
    Namespace,
    RegisteredModel,
)
from tests import factories, samples

TABLE = b"weight,colour,kind\n1.5,2,granite\n2.5,1,basalt\n"
SPLIT = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["test.csv"],
    "inputs": [{"name": "features", "columns": ["weight", "colour"]}],
    "target": {"column": "kind", "labels": ["basalt", "granite"]},
}
ADDRESS = "datasets/stones/versions"


@pytest.fixture
def stones(ada):
    return factories.dataset(ada, "stones")


def publish(client, content=TABLE, *, path="test.csv", splits=(SPLIT,), **fields):
    digest = client.upload(content)["Hub-Blob"]
    return client.post(ADDRESS, {"files": {path: digest}, "splits": splits} | fields)


def test_a_version_is_published_and_read_by_everybody(ada, api, stones):
    made = publish(api(ada), message="First rows")
    assert made.status_code == 201, made.content
    assert made["Location"].endswith("/api/v1/datasets/stones/versions/1")
    read = api().get(f"{ADDRESS}/1")
    assert read.json() == made.json()
    version = read.json()
    assert (version["number"], version["message"], version["created_by"]) == (
        1,
        "First rows",
        "ada",
    )
    assert (version["file_count"], version["size_bytes"]) == (1, len(TABLE))
    assert version["splits"] == [SPLIT]
    (file,) = version["files"]
    assert file["sha256"] == f"sha256:{hashlib.sha256(TABLE).hexdigest()}"
    assert (file["path"], file["size"]) == ("test.csv", len(TABLE))
    (row,) = api().get(ADDRESS).json()["items"]
    assert row == {key: version[key] for key in row}
    event = Event.objects.get(verb="dataset.published")
    assert event.data == {"number": 1, "sha256": version["sha256"].removeprefix("sha256:")}


def test_its_digest_is_that_of_the_canonical_manifest(ada, api, stones):
    made = publish(api(ada), splits=()).json()
    manifest = f'{{"files":{{"test.csv":"{made["files"][0]["sha256"]}"}},"splits":[]}}'
    assert made["sha256"] == f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"


def test_a_file_is_served_by_range_and_tag(ada, api, stones):
    publish(api(ada))
    address = f"{ADDRESS}/1/files/test.csv"
    whole = api().get(address)
    assert b"".join(whole.streaming_content) == TABLE
    assert whole["Content-Disposition"].startswith("attachment")
    assert api().get(address, If_None_Match=whole["ETag"]).status_code == 304
    part = api().get(address, Range="bytes=7-12")
    assert (part.status_code, b"".join(part.streaming_content)) == (206, TABLE[7:13])
    assert api().get(f"{ADDRESS}/1/files/none.csv").status_code == 404
    assert api().get(f"{ADDRESS}/2").status_code == 404
    blob = api().get(f"blobs/{hashlib.sha256(TABLE).hexdigest()}")
    assert b"".join(blob.streaming_content) == TABLE


def test_the_same_content_is_the_same_version(ada, api, stones):
    mine = api(ada)
    first = publish(mine)
    again = publish(mine, message="Once more")
    assert (again.status_code, again.json()) == (200, first.json())
    assert publish(mine, splits=[]).json()["number"] == 2
    assert DatasetVersion.objects.count() == 2
    assert Event.objects.filter(verb="dataset.published").count() == 2


def test_bytes_of_an_earlier_version_need_no_second_upload(ada, bob, api, stones):
    digest = publish(api(ada)).json()["files"][0]["sha256"]
    factories.dataset(bob, "pebbles")
    made = api(bob).post("datasets/pebbles/versions", {"files": {"a.csv": digest}})
    assert made.status_code == 201, made.content


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("../test.csv", 422),
        ("/etc/passwd", 422),
        ("a//b", 422),
        ("a/./b", 422),
        ("a\\b", 422),
        ("", 422),
        ("a\x00b", 422),
        ("é" * 400, 422),
    ],
)
def test_a_path_stays_within_its_folder(ada, api, stones, path, status):
    answer = publish(api(ada), path=path, splits=())
    assert answer.status_code == status, answer.content
    assert not DatasetVersion.objects.exists()


def test_a_path_is_no_file_and_folder_at_once(ada, api, stones):
    digest = factories.blob(ada, TABLE)
    answer = api(ada).post(ADDRESS, {"files": {"a": digest, "a/b": digest}})
    assert (answer.status_code, answer.json()["type"].rsplit("/", 1)[-1]) == (422, "path-invalid")


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"splits": [SPLIT | {"files": ["other.csv"]}]}, "/splits/0/files"),
        ({"splits": [SPLIT | {"reader": "xlsx"}]}, "/splits/0/reader"),
        ({"splits": [SPLIT, SPLIT]}, "/splits"),
        ({"splits": [SPLIT | {"name": "a\x00b"}]}, "/splits/0/name"),
        ({"splits": [SPLIT | {"name": "\ud800"}]}, "/splits/0/name"),
        ({"splits": {"test": SPLIT}}, "/splits"),
        ({"splits": [SPLIT | {"rows": 3}]}, "/splits/0"),
        ({"files": {}}, "/files"),
        ({"files": []}, "/files"),
        ({"files": {"a~b/test.csv": "md5:1"}}, "/files/a~0b~1test.csv"),
        ({"message": "x" * 501}, "/message"),
        ({"rows": 3}, "/rows"),
    ],
)
def test_what_does_not_fit_is_refused_by_field(ada, api, stones, changed, pointer):
    answer = publish(api(ada), **changed)
    assert answer.status_code == 400, answer.content
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}
    assert not DatasetVersion.objects.exists()


def test_only_so_many_files(ada, api, stones, settings):
    settings.HUB_LIMITS_FILES = 2
    digest = factories.blob(ada, TABLE)
    answer = api(ada).post(ADDRESS, {"files": {f"{at}.csv": digest for at in range(3)}})
    assert answer.status_code == 400
    assert "at most 2 files" in answer.json()["detail"]
    assert not DatasetVersion.objects.exists()


def test_only_writers_publish(ada, bob, api, stones):
    digest = factories.blob(ada, TABLE)
    body = {"files": {"test.csv": digest}}
    for caller, status in ((api(), 401), (api(bob), 403), (api(ada, scopes=("read",)), 403)):
        assert caller.post(ADDRESS, body).status_code == status
    assert not DatasetVersion.objects.exists()


def test_a_digest_is_no_right_to_bytes(ada, bob, api, stones):
    """Neither what another user uploaded, nor a private model's file, nor a digest of nothing."""
    private = factories.model(bob, "secret", visibility=RegisteredModel.Visibility.PRIVATE)
    factories.version(bob, private, {"model.onnx": samples.mlp(), "rows.csv": b"private rows\n"})
    hidden = f"sha256:{hashlib.sha256(b'private rows' + bytes([10])).hexdigest()}"
    uploaded = factories.blob(bob, b"not yours")
    absent = f"sha256:{'0' * 64}"
    answers = [
        api(ada).post(ADDRESS, {"files": {"rows.csv": digest}})
        for digest in (hidden, uploaded, absent)
    ]
    assert {answer.status_code for answer in answers} == {422}
    details = {
        answer.json()["detail"].replace(digest, "")
        for answer, digest in zip(answers, (hidden, uploaded, absent), strict=True)
    }
    assert len(details) == 1
    assert not DatasetVersion.objects.exists()


def test_a_member_of_a_private_model_cannot_make_its_files_public_by_digest(ada, api, stones):
    private = factories.model(ada, "secret", visibility=RegisteredModel.Visibility.PRIVATE)
    factories.version(ada, private, {"model.onnx": samples.mlp(), "rows.csv": TABLE})
    ada.uploads.all().delete()
    digest = f"sha256:{hashlib.sha256(TABLE).hexdigest()}"
    assert api(ada).post(ADDRESS, {"files": {"rows.csv": digest}}).status_code == 422
    assert not DatasetVersion.objects.exists()


def test_a_bound_token_links_what_it_uploaded_alone(ada, api):
    factories.namespace(ada, "lab")
    lab = Namespace.objects.get(slug="lab")
    factories.services.create(ada, namespace=lab, slug="stones")
    bound = api(ada, namespace="lab")
    elsewhere = api(ada).upload(b"of the account")["Hub-Blob"]
    assert bound.post(ADDRESS, {"files": {"a.csv": elsewhere}}).status_code == 422
    assert publish(bound).status_code == 201


def test_a_withdrawn_data_set_takes_and_gives_no_files(ada, api, stones):
    mine = api(ada)
    publish(mine)
    mine.post("datasets/stones/withdraw", {"reason": "Not ours."})
    assert publish(mine, b"weight,colour,kind\n").status_code == 409
    answer = api().get(f"{ADDRESS}/1/files/test.csv")
    assert (answer.status_code, "Not ours." in answer.json()["detail"]) == (410, True)
    assert api().get(f"blobs/{hashlib.sha256(TABLE).hexdigest()}").status_code == 404
    mine.post("datasets/stones/restore", {})
    assert api().get(f"{ADDRESS}/1/files/test.csv").status_code == 200
    assert DatasetVersion.objects.count() == 1


def test_a_namespace_over_its_quota_is_refused(ada, api, stones):
    mine = api(ada)
    first = publish(mine)
    assert first.status_code == 201
    digest = mine.upload(b"x" * 100)["Hub-Blob"]
    Namespace.objects.filter(slug="ada").update(quota_bytes=len(TABLE) + 99)
    files = {"test.csv": first.json()["files"][0]["sha256"], "more.bin": digest}
    answer = mine.post(ADDRESS, {"files": files})
    assert answer.status_code == 413, answer.content
    assert DatasetVersion.objects.count() == 1
    Namespace.objects.filter(slug="ada").update(quota_bytes=len(TABLE) + 100)
    # The same table in two versions is stored, and counted, once.
    assert mine.post(ADDRESS, {"files": files}).status_code == 201


def test_a_quota_is_checked_before_files_are_sent(ada, api, stones, settings):
    mine = api(ada)
    held = publish(mine).json()["files"][0]["sha256"]
    absent = f"sha256:{hashlib.sha256(b'x' * 100).hexdigest()}"
    content = {
        "files": {"test.csv": held, "more.bin": absent, "same.bin": absent},
        "sizes": {"test.csv": len(TABLE), "more.bin": 100, "same.bin": 100},
    }
    Namespace.objects.filter(slug="ada").update(quota_bytes=len(TABLE) + 99)
    refused = mine.post(ADDRESS, content)
    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (
        413,
        "quota-exceeded",
    )
    Namespace.objects.filter(slug="ada").update(quota_bytes=len(TABLE) + 100)
    answer = mine.post(ADDRESS, content)
    assert (answer.status_code, answer.json()["missing"]) == (422, [absent])
    settings.HUB_LIMITS_FILE_BYTES = 99
    too_large = mine.post(ADDRESS, content)
    assert (too_large.status_code, "has 100 bytes; this hub" in too_large.json()["detail"]) == (
        413,
        True,
    )
    assert mine.post(ADDRESS, content | {"sizes": {"more.bin": -1}}).status_code == 400
    assert DatasetVersion.objects.count() == 1


def test_what_a_version_holds_is_no_open_upload_any_more(ada, api, stones, settings):
    settings.HUB_LIMITS_USER_BYTES = len(TABLE) + 10
    mine = api(ada)
    assert publish(mine).status_code == 201
    assert mine.upload(b"x" * 20).status_code == 204


def test_versions_come_in_pages_newest_first(ada, api, stones):
    for at in range(3):
        factories.dataset_version(ada, stones, {"test.csv": str(at).encode()})
    first = api().get(f"{ADDRESS}?limit=2").json()
    assert [row["number"] for row in first["items"]] == [3, 2]
    second = api().get(first["next"].removeprefix("http://testserver")).json()
    assert [row["number"] for row in second["items"]] == [1]


def test_the_dataset_is_locked_while_a_version_is_made(ada, stones, locks):
    factories.dataset_version(ada, stones)
    assert locks[:2] == ["Dataset", "Namespace"]


@pytest.mark.parametrize("same", ["number", "sha256"])
def test_the_database_has_a_number_and_a_content_once(ada, stones, same):
    first = factories.dataset_version(ada, stones)
    values = {"number": 2, "sha256": "0" * 64} | {same: getattr(first, same)}
    with pytest.raises(IntegrityError), transaction.atomic():
        DatasetVersion.objects.create(dataset=stones, splits=[], created_by=ada, **values)
    with pytest.raises(IntegrityError), transaction.atomic():
        DatasetFile.objects.create(version=first, path="../up", blob=first.files.get().blob)


@pytest.mark.parametrize(
    "change", [{"number": 2}, {"sha256": "1" * 64}, {"splits": [{"name": "other"}]}]
)
def test_the_database_lets_no_version_change(ada, stones, change):
    version = factories.dataset_version(ada, stones)
    other = factories.blob(ada, b"other").removeprefix("sha256:")
    with pytest.raises(IntegrityError), transaction.atomic():
        DatasetVersion.objects.filter(pk=version.pk).update(**change)
    for file in ({"path": "moved.csv"}, {"blob": other}):
        with pytest.raises(IntegrityError), transaction.atomic():
            DatasetFile.objects.filter(version=version).update(**file)


def test_a_reader_of_the_namespace_publishes_nothing(ada, bob, api, stones):
    Membership.objects.create(namespace=stones.namespace, user=bob, role=Membership.Role.READER)
    assert publish(api(bob)).status_code == 403


def test_a_first_version_brings_its_entry(ada, bob, api):
    mine = api(ada)
    made = publish(mine, namespace="ada")
    assert made.status_code == 201, made.content
    assert publish(mine, namespace="ada").status_code == 200
    assert api().get("datasets/stones").json()["namespace"] == "ada"
    verbs = Event.objects.filter(verb__startswith="dataset.").values_list("verb", flat=True)
    assert list(verbs.order_by("pk")) == ["dataset.created", "dataset.published"]
    # One that exists stays where it is.
    factories.namespace(ada, "lab")
    assert publish(mine, b"more\n", namespace="lab", splits=()).json()["number"] == 2
    assert api().get("datasets/stones").json()["namespace"] == "ada"
    assert publish(api(bob), namespace="bob").status_code == 403


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 404),
        ({"namespace": "nowhere"}, 404),
        ({"namespace": "bob"}, 403),
        ({"namespace": "ada", "files": {"test.csv": f"sha256:{'0' * 64}"}}, 422),
        ({"namespace": "ada", "splits": {}}, 400),
    ],
)
def test_a_refused_first_version_brings_none(ada, bob, api, changes, status):
    answer = publish(api(ada), **changes)
    assert answer.status_code == status, answer.content
    assert not Dataset.objects.exists()
    assert not Event.objects.filter(verb__startswith="dataset.").exists()


def test_an_entry_that_another_push_makes_meanwhile_gets_the_version(ada, api, monkeypatch):
    find = selectors.dataset

    def find_late(slug):
        monkeypatch.setattr(selectors, "dataset", find)
        factories.dataset(ada, slug)
        raise problems.NotFound

    monkeypatch.setattr(selectors, "dataset", find_late)
    assert publish(api(ada), namespace="ada").json()["number"] == 1
