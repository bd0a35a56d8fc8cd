"""A preflight of a data set names everything that would refuse a push, and writes nothing."""

from __future__ import annotations

import hashlib

import pytest

from registry.models import Blob, Dataset, DatasetVersion, Event, Membership, Namespace, Upload
from tests import factories
from tests.api.datasets.test_dataset_versions import SPLIT, TABLE
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
ADDRESS = "datasets/stones/preflight"
NEW = f"sha256:{hashlib.sha256(b'new rows').hexdigest()}"


def body(**changes):
    given = {"files": {"test.csv": NEW}, "splits": [SPLIT], "sizes": {"test.csv": 8}}
    return {"namespace": "ada", **given, **changes}


def rows():
    kinds = (Blob, Dataset, DatasetVersion, Event, Namespace, Upload)
    return [kind.objects.count() for kind in kinds]


def pointers(answer):
    return [error["pointer"] for error in answer.json()["errors"]]


def test_a_data_set_that_does_not_exist(ada, api):
    mine = api(ada)
    before = rows()
    files = {"test.csv": NEW, "copy.csv": NEW}
    answer = mine.post(ADDRESS, body(files=files, sizes=dict.fromkeys(files, 8)))
    assert answer.status_code == 200, answer.content
    assert answer["Cache-Control"] == "no-store"
    assert answer.json() == {
        "creates": True,
        "missing": ["test.csv", "copy.csv"],
        "missing_bytes": 8,
        "identical_to": None,
    }
    assert rows() == before


def test_what_the_hub_has(ada, api):
    stones = factories.dataset(ada, "stones")
    digest = factories.blob(ada, TABLE)
    mine = api(ada)
    content = body(files={"test.csv": digest}, sizes=None)
    expected = {"creates": False, "missing": [], "missing_bytes": 0, "identical_to": None}
    assert mine.post(ADDRESS, content).json() == expected
    assert mine.post("datasets/stones/versions", content).status_code == 201
    before = rows()
    # An equal version needs no room.
    Namespace.objects.update(quota_bytes=0)
    assert mine.post("datasets/Stones/preflight", content).json() == expected | {"identical_to": 1}
    Namespace.objects.update(quota_bytes=None)
    assert mine.post(ADDRESS, content | {"splits": []}).json() == expected
    assert rows() == before
    assert stones.versions.count() == 1


def test_every_problem_in_one_answer(ada, api, settings):
    settings.HUB_LIMITS_FILE_BYTES = 7
    Namespace.objects.filter(slug="ada").update(quota_bytes=7)
    mine = api(ada)
    before = rows()
    files = {"test.csv": NEW, "../up": NEW, "a~b": "md5:1", "c": NEW, "c/d": NEW}
    sizes = dict.fromkeys(files, 8)
    changes = {"files": files, "sizes": sizes, "splits": [SPLIT | {"reader": "xlsx"}]}
    answer = mine.post("datasets/new/preflight", body(**changes))
    problem(answer, 422, "name-reserved")
    assert pointers(answer) == [
        "/slug", "/files/..~1up", "/files/a~0b", "/files/c~1d", "/splits/0/reader", "/sizes",
        "/sizes",
    ]  # fmt: skip
    assert "has 8 bytes" in answer.json()["errors"][-2]["detail"]
    assert "exceed the quota" in answer.json()["errors"][-1]["detail"]
    assert rows() == before


def test_only_so_many_files_are_named(ada, api, settings):
    settings.HUB_LIMITS_FILE_BYTES = 7
    Namespace.objects.filter(slug="ada").update(quota_bytes=7)
    files = {f"../{at}": NEW for at in range(100)}
    files |= {f"{at}": f"sha256:{at:064}" for at in range(100)}
    answer = api(ada).post(ADDRESS, body(files=files, splits={}, sizes=dict.fromkeys(files, 8)))
    problem(answer, 422, "path-invalid")
    assert len(pointers(answer)) == 20 + 1 + 20
    assert "exceed the quota" in answer.json()["errors"][-1]["detail"]


def test_what_was_sent_already_is_counted_once(ada, api, settings):
    settings.HUB_LIMITS_USER_BYTES = 100
    Namespace.objects.filter(slug="ada").update(quota_bytes=100)
    mine = api(ada)
    digest = mine.upload(b"x" * 60)["Hub-Blob"]
    content = body(files={"test.csv": digest}, sizes={"test.csv": 60})
    assert mine.post(ADDRESS, content).status_code == 200
    content = body(files={"test.csv": digest, "more": NEW}, sizes={"test.csv": 60, "more": 40})
    assert mine.post(ADDRESS, content).status_code == 200
    content["sizes"]["more"] = 41
    problem(mine.post(ADDRESS, content), 413, "quota-exceeded")


@pytest.mark.parametrize(
    ("slug", "status", "code"),
    [("a.csv", 422, "invalid-name"), ("ada/stones", 422, "invalid-name"),
     ("Stones", 422, "invalid-name"), ("new", 422, "name-reserved")],
)  # fmt: skip
def test_names_that_cannot_be_used(ada, api, slug, status, code):
    answer = api(ada).post(f"datasets/{slug}/preflight", body())
    problem(answer, status, code)
    assert pointers(answer) == ["/slug"]


def test_where_it_would_be_made(ada, api):
    answer = api(ada).post(ADDRESS, body(namespace=""))
    problem(answer, 404, "not-found")
    assert pointers(answer) == ["/slug"]
    answer = api(ada).post(ADDRESS, body(namespace="nowhere"))
    problem(answer, 404, "not-found")
    assert pointers(answer) == ["/namespace"]


@pytest.mark.parametrize("is_there", [True, False])
def test_those_who_may_not_write_learn_of_no_quota(ada, bob, api, is_there):
    if is_there:
        factories.dataset(ada, "stones")
    space = Namespace.objects.get(slug="ada")
    space.quota_bytes = 0
    space.save()
    assert api(None).post(ADDRESS, body()).status_code == 401
    Membership.objects.create(namespace=space, user=bob, role=Membership.Role.READER)
    for caller in (api(bob), api(ada, scopes=("read",))):
        answer = caller.post(ADDRESS, body(splits={}))
        problem(answer, 403, "not-allowed")
        assert pointers(answer) == ["/namespace", "/splits"]


def test_what_another_user_uploaded_is_missing(ada, bob, api):
    digest = factories.blob(bob, b"not yours")
    answer = api(ada).post(ADDRESS, body(files={"test.csv": digest}))
    assert answer.json()["missing"] == ["test.csv"]


def test_a_withdrawn_data_set(ada, api):
    factories.dataset(ada, "stones")
    mine = api(ada)
    mine.post("datasets/stones/withdraw", {"reason": "Not ours."})
    answer = mine.post(ADDRESS, body(splits={}))
    problem(answer, 409, "state-conflict")
    assert pointers(answer) == ["/slug", "/splits"]
