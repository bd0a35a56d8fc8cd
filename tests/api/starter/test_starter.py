"""Starter models over HTTP: for administrators, one import at a time."""

from __future__ import annotations

import pytest

from runners.models import Job
from runners.starter import imports, manifest
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("starter"), pytest.mark.django_db]


def test_administrators_list_and_import(api, admin):
    client = api(admin)
    rows = client.get("starter").json()["items"]
    assert [row["name"] for row in rows] == list(manifest.models())
    assert {row["state"] for row in rows} == {"absent"}
    answer = client.post("starter/magika")
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    assert client.get("starter/magika").json() == answer.json()
    [package] = answer.json()["packages"]
    assert (package["archive"], package["is_stored"]) == ("magika-1.0.3-py3-none-any.whl", False)
    assert package["sha256"].startswith("sha256:938d8e03")
    job = Job.objects.get(kind=imports.KIND)
    assert (job.requester, job.priority) == (admin, imports.ON_REQUEST)
    client.post("starter/magika")
    assert Job.objects.filter(kind=imports.KIND).count() == 1


def test_an_unknown_model_is_not_found(api, admin):
    answer = api(admin).post("starter/no-such-model")
    problem(answer, 404, "not-found")
    assert "magika" in answer.json()["detail"]


def test_others_are_refused(api, ada):
    for call in (api(ada).get, api(ada).post):
        problem(call("starter/magika"), 403, "not-allowed")
    problem(api(ada).get("starter"), 403, "not-allowed")
    problem(api().get("starter"), 401, "not-authenticated")


def test_a_token_without_the_scope_is_refused(api, admin):
    problem(api(admin, scopes=("write",)).post("starter/magika"), 403, "not-allowed")
