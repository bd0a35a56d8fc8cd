"""Variants, conformance and the scoreboard over HTTP, and who may see and ask what."""

from __future__ import annotations

import pytest

from registry.models import RegisteredModel
from runners.models import Job, SuiteResult, SuiteRun
from runners.proofs import selectors, verification
from tests import factories, shared
from tests.proven import PROOF
from tests.unit.runners.proofs.test_proofs import conformance, end, offer, upgraded, waiting

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    """A version that is owed its proofs on the runtimes that a worker offers."""
    offer()
    owner = factories.user("ada")
    return owner, factories.published(owner)


@pytest.fixture
def owner(start, db):
    return shared.fresh(start[0])


@pytest.fixture
def version(start, db):
    offer()
    return shared.fresh(start[1])


@pytest.fixture
def place(version):
    return f"/api/v1/models/{version.model.ref}/versions/{version.number}"


@pytest.fixture
def as_owner(owner):
    return {"HTTP_AUTHORIZATION": f"Bearer {factories.token(owner)}"}


def post(client, path, data, headers):
    return client.post(path, data, content_type="application/json", **headers)


def test_a_maintainer_asks_for_a_variant_and_finds_it(client, version, place, as_owner):
    answer = post(client, f"{place}/variants", {"kind": "upgrade", "opset": 26}, as_owner)
    assert answer.status_code == 202
    job = answer.json()
    assert answer["Location"].endswith(f"/api/v1/jobs/{job['uuid']}")
    assert (job["kind"], job["state"]) == ("upgrade", "queued")
    end(Job.objects.get(pk=job["uuid"]), upgraded())
    items = client.get(f"{place}/variants").json()["items"]
    assert [(item["name"], item["origin"], item["derived_from"]) for item in items] == [
        ("default", "uploaded", None),
        ("opset26", "upgraded", "default"),
    ]
    assert items[1]["job"] == job["uuid"]
    assert items[1]["derivation"]["parity"] == {"max_abs": 0.0}
    assert "figures" not in items[1]["derivation"]
    assert items[0]["proof"] is None
    proof = items[1]["proof"]
    assert (proof["strength"], proof["chosen"]) == ("certified", True)
    assert proof["sentence"] == PROOF.sentence
    assert proof["evidence"] == PROOF.to_json()
    one = client.get(f"{place}/variants/opset26").json()
    assert one["derivation"]["figures"] == []
    found = client.get("/api/v1/resolve", {"ref": version.ref, "opset": 26}).json()
    assert found["variant"]["name"] == "opset26"
    assert found["variant"]["proof"]["sentence"] == PROOF.sentence
    paths = {file["path"] for file in found["files"]}
    assert "model.opset26.onnx" in paths
    assert "model.onnx" not in paths
    content = client.get(f"{place}/files/model.opset26.onnx")
    assert b"".join(content.streaming_content) == b"another model"


@pytest.mark.parametrize(
    ("wish", "status", "said"),
    [
        ({"kind": "int4"}, 400, "kind"),
        ({"kind": "upgrade", "opset": 3}, 400, "opset"),
        ({"kind": "int8", "opset": 17}, 400, "opset"),
        ({"kind": "fp16", "calibration": "sha256:" + "a" * 64}, 400, "calibration"),
        ({"kind": "int8", "keep_float32": ["/head/MatMul"]}, 400, "keep_float32"),
        ({"kind": "fp16", "keep_float32": ["n" * 501]}, 400, "at most 500 characters"),
        ({"kind": "upgrade", "calibration": "sha256:" + "a" * 64}, 400, "calibration"),
        ({"kind": "int8-qdq", "calibration": "sha256:" + "a" * 64}, 422, "upload"),
        ({"kind": "fp16", "variant": "none-such"}, 404, "none-such|no such variant"),
    ],
)
def test_a_wish_that_cannot_be_met_is_told(client, place, as_owner, wish, status, said):
    answer = post(client, f"{place}/variants", wish, as_owner)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert any(part in answer.content.decode().lower() for part in said.split("|"))
    assert not Job.objects.filter(kind="convert").exists()


def test_others_may_look_and_not_ask(client, place):
    stranger = {"HTTP_AUTHORIZATION": f"Bearer {factories.token(factories.user('eve'))}"}
    for path, wish in (("variants", {"kind": "fp16"}), ("conformance", {})):
        assert client.get(f"{place}/{path}").status_code == 200
        assert post(client, f"{place}/{path}", wish, stranger).status_code == 403
        assert post(client, f"{place}/{path}", wish, {}).status_code == 401


def test_a_private_model_shows_none_of_its_proofs(client, version, place, as_owner):
    job = waiting("conformance")[0]
    end(job, conformance(job.input["runtime"], job.input["runtime_version"]))
    shown = client.get(f"{place}/conformance").json()["items"][0]
    RegisteredModel.objects.update(visibility="private")
    paths = [
        f"{place}/variants",
        f"{place}/variants/default",
        f"{place}/conformance",
        f"{place}/conformance/{shown['id']}",
        f"/api/v1/jobs/{job.pk}",
    ]
    for path in paths:
        assert client.get(path).status_code == 404, path
        assert client.get(path, **as_owner).status_code == 200, path


def test_conformance_is_read_and_run_again(client, version, place, as_owner):
    for job in waiting("conformance"):
        runtime, version_of = job.input["runtime"], job.input["runtime_version"]
        end(job, conformance(runtime, version_of, checks=job.input.get("checks")))
    items = client.get(f"{place}/conformance").json()["items"]
    assert len(items) == 8
    assert len(client.get(f"{place}/conformance?runtime=onnxruntime").json()["items"]) == 4
    one = client.get(f"{place}/conformance/{items[0]['id']}").json()
    assert one["figures"] == [{"name": "y", "max_abs": 0.0}]
    assert one["versions"] == {"onnx": "1.23.2"}
    again = post(client, f"{place}/conformance", {"runtime": "onnxruntime"}, as_owner)
    assert again.status_code == 202
    [job] = again.json()["items"]
    end(Job.objects.get(pk=job["uuid"]), conformance(outcome="failed"))
    newest = client.get(f"{place}/conformance?runtime=onnxruntime").json()["items"]
    assert {item["outcome"] for item in newest} == {"failed"}
    assert len(client.get(f"{place}/conformance?history=true").json()["items"]) == 12
    unknown = post(client, f"{place}/conformance", {"runtime": "abacus"}, as_owner)
    assert unknown.status_code == 400


def test_runtimes_and_scoreboard(client):
    runtimes = offer()
    rows = client.get("/api/v1/runtimes").json()["items"]
    assert [(one["name"], one["version"]) for one in rows] == [
        ("onnx-reference", "1.23.2"),
        ("onnxruntime", "1.31.1"),
    ]
    assert client.get("/api/v1/scoreboard").json()["items"] == []
    assert client.get("/api/v1/scoreboard/onnxruntime/1.31.1").status_code == 404
    [runtime] = [row for row in runtimes if row.name == "onnxruntime"]
    verification.start_suite(runtime, "1.23.2")
    run = SuiteRun.objects.get()
    SuiteResult.objects.bulk_create(
        SuiteResult(run=run, case=f"test_{n}", operator="Abs", opset=13, outcome=outcome)
        for n, outcome in enumerate(("passed", "failed", "passed"))
    )
    shown = client.get("/api/v1/scoreboard/onnxruntime/1.31.1").json()
    assert shown["cases"] == 3
    assert shown["totals"] == dict.fromkeys(selectors.SUITE_WORDS, 0) | {"passed": 2, "failed": 1}
    assert shown["finished_at"] is None
    assert [one["operator"] for one in shown["operators"]] == ["Abs"]
    cases = client.get("/api/v1/scoreboard/onnxruntime/1.31.1/cases?outcome=failed").json()
    assert [case["case"] for case in cases["items"]] == ["test_1"]
