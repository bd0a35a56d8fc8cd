"""Benchmarks over HTTP: results, samples, contributions, rankings, and who may see and do what."""

from __future__ import annotations

import copy
import json

import pytest

from hub.protocol import problems
from registry.models import RegisteredModel
from runners import contributions, services
from runners.engine.benchmark import verdicts
from runners.models import Job, Measurement
from tests import factories, timed
from tests.unit.runners.test_benchmarks import OFFERED, listed, row_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(ada):
    return listed(ada)


@pytest.fixture
def place(version):
    return f"models/{version.model.ref}/versions/{version.number}"


def sent(version, median_ms=1.0, **more):
    return timed.record(version.files.get(path="model.onnx").blob_id, median_ms, **more)


def test_results_are_listed_read_and_their_samples_sent(api, version, place):
    row = row_of(version, 1.5)
    row_of(version, 3.0, config={"batch": 4})
    items = api().get(f"{place}/benchmarks").json()["items"]
    assert [item["batch"] for item in items] == [4, 1]
    [one] = api().get(f"{place}/benchmarks?batch=1&device=example-cpu-2-cores").json()["items"]
    assert (one["id"], one["status"], one["origin"]) == (row.pk, "accepted", "measured")
    assert api().get(f"{place}/benchmarks?runtime=openvino").json()["items"] == []
    assert api().get(f"{place}/benchmarks?batch=four").status_code == 400
    whole = api().get(f"{place}/benchmarks/{row.pk}").json()
    assert whole["told"]["environment"]["os"] == "Linux"
    assert whole["p99_ms"] is None
    record = api().get(f"{place}/benchmarks/{row.pk}/record.json")
    assert json.loads(b"".join(record.streaming_content)) == sent(version, 1.5)
    told = api().get(f"{place}/benchmarks/{row.pk}/samples.json").json()
    assert [len(process["samples_ns"]) for process in told["processes"]] == [20] * 5
    table = b"".join(api().get(f"{place}/benchmarks/{row.pk}/samples.csv").streaming_content)
    assert len(table.splitlines()) == 101
    assert api().get(f"{place}/benchmarks/{row.pk + 1000}").status_code == 404
    environment = api().get(f"environments/{one['environment']}").json()
    assert environment["parts"]["cpu_model"] == "Example CPU"
    [device] = api().get("devices").json()["items"]
    assert (device["name"], device["measurements"]) == ("example-cpu-2-cores", 2)


def test_a_record_is_contributed_under_its_senders_name(api, version, place, bob):
    row_of(version, 2.0)
    answer = api(bob).post(f"{place}/benchmarks", sent(version, 1.0))
    assert answer.status_code == 201, answer.content
    [item] = answer.json()["items"]
    assert (item["origin"], item["contributor"], item["job"]) == ("contributed", "bob", None)
    assert answer["Location"].endswith(f"{place}/benchmarks/{item['id']}")
    again = api(bob).post(f"{place}/benchmarks", sent(version, 1.0)).json()["items"]
    assert [one["id"] for one in again] == [item["id"]]
    ranked = api().get("benchmarks").json()["items"]
    assert [(one["rank"], one["result"]["origin"]) for one in ranked] == [(1, "measured")]
    both = api().get("benchmarks?contributed=true").json()["items"]
    assert [(one["rank"], one["result"]["origin"]) for one in both] == [
        (None, "contributed"),
        (1, "measured"),
    ]


def test_who_contributed_may_remove_and_a_maintainer_and_nobody_else(api, version, place, ada, bob):
    measured = row_of(version)
    for remover, status in ((factories.user("eve"), 403), (bob, 204), (ada, 204)):
        answer = api(bob).post(f"{place}/benchmarks", sent(version, 1.0)).json()
        address = f"{place}/benchmarks/{answer['items'][0]['id']}"
        assert api().delete(address).status_code == 401
        assert api(remover).delete(address).status_code == status
    assert api(ada).delete(f"{place}/benchmarks/{measured.pk}").status_code == 409
    assert list(Measurement.objects.all()) == [measured]


def tampered(version):
    right = sent(version)
    found = {name: copy.deepcopy(right) for name in ("samples", "p50", "digest", "key", "shape")}
    found["samples"]["processes"][0]["samples_ns"][0] = 1
    found["p50"]["stats"]["latency_ms"]["p50"] = 0.1
    found["digest"]["environment_digest"] = "0" * 64
    found["key"]["comparability_key"] = "0" * 64
    found["shape"]["processes"] = {}
    found["list"] = ["a record"]
    found["comparison"] = verdicts.complete(right, right, "ABAB")
    found["other file"] = timed.record("ab" * 32)
    found["failed"] = sent(version, failure={"code": "ep-not-used", "message": "none"})
    found["beside"] = sent(
        version,
        model=right["model"] | {"files": [{"path": "w", "sha256": "cd" * 32, "size": 1}]},
    )
    found["NUL"] = sent(version, environment={"os": "a\x00b"})
    return found


def test_a_tampered_record_is_refused_and_the_field_named(api, version, place, bob):
    pointers = {}
    for name, record in tampered(version).items():
        answer = api(bob).post(f"{place}/benchmarks", record)
        assert answer.status_code == 422, (name, answer.content)
        problem = answer.json()
        assert problem["type"].endswith("/record-invalid")
        pointers[name] = problem["errors"][0]["pointer"]
    assert pointers["digest"] == "/environment_digest"
    assert pointers["key"] == "/comparability_key"
    assert pointers["p50"] == "/stats/latency_ms/p50"
    assert pointers["other file"] == "/model/sha256"
    assert pointers["beside"] == "/model/files"
    assert pointers["failed"] == "/status"
    assert not Measurement.objects.exists()


def test_contributing_has_its_limits(api, version, place, bob, monkeypatch):
    assert api().post(f"{place}/benchmarks", sent(version)).status_code == 401
    assert api(bob).post(f"{place}/benchmarks", b"{").status_code == 400
    assert api(bob).post(f"{place}/benchmarks", b"[" * 100_000).status_code == 400
    monkeypatch.setattr(contributions, "MOST_BYTES", 1000)
    assert api(bob).post(f"{place}/benchmarks", sent(version)).status_code == 413
    monkeypatch.undo()
    monkeypatch.setattr(contributions, "_OF_ONE", 1)
    assert api(bob).post(f"{place}/benchmarks", sent(version)).status_code == 201
    assert api(bob).post(f"{place}/benchmarks", sent(version, 2.0)).status_code == 413
    RegisteredModel.objects.update(gate="manual")
    assert api(bob).post(f"{place}/benchmarks", sent(version, 3.0)).status_code == 403
    RegisteredModel.objects.update(visibility="private")
    assert api(bob).post(f"{place}/benchmarks", sent(version, 3.0)).status_code == 404


def test_sending_and_removing_again_and_again_fills_no_disk(api, version, place, bob, monkeypatch):
    """Files of a published version stay, so what was removed counts on."""
    monkeypatch.setattr(contributions, "_OF_ONE", 2)
    monkeypatch.setattr(contributions, "_OF_ALL", 3)
    eve = factories.user("eve")

    def send(who, median_ms):
        return api(who).post(f"{place}/benchmarks", sent(version, median_ms))

    def stored():
        return version.files.filter(path__startswith="benchmarks/").count()

    for median_ms in (1.0, 2.0):
        address = send(bob, median_ms).json()["items"][0]["id"]
        assert api(bob).delete(f"{place}/benchmarks/{address}").status_code == 204
    answer = send(bob, 3.0)
    assert (answer.status_code, answer.json()["title"], stored()) == (
        413,
        "Quota exceeded",
        2,
    )
    # What is stored anyway takes no room.
    assert send(bob, 1.0).status_code == 201
    assert stored() == 2
    assert send(eve, 4.0).status_code == 201
    assert send(eve, 5.0).status_code == 413
    assert (stored(), Measurement.objects.count()) == (3, 2)


def test_a_version_that_is_withdrawn_meanwhile_takes_nothing(version, bob):
    stale = copy.copy(version)
    type(version).objects.filter(pk=version.pk).update(state="withdrawn", reason="wrong")
    with pytest.raises(problems.StateConflict):
        contributions.contribute(bob, version=stale, text=json.dumps(sent(version)))
    assert not Measurement.objects.exists()
    assert not version.files.filter(path__startswith="benchmarks/").exists()


def test_records_and_samples_of_a_gated_model_are_files(api, version, place, ada, bob):
    row = row_of(version)
    RegisteredModel.objects.update(gate="manual")
    for name in ("record.json", "samples.json", "samples.csv"):
        path = f"{place}/benchmarks/{row.pk}/{name}"
        assert api().get(path).status_code == 401
        assert api(bob).get(path).status_code == 403
        assert api(ada).get(path).status_code == 200
    assert api().get(f"{place}/benchmarks/{row.pk}").status_code == 200


def test_a_private_model_shows_none_of_its_results(api, version, place, ada, bob):
    row = row_of(version)
    RegisteredModel.objects.update(visibility="private")
    paths = [
        f"{place}/benchmarks",
        f"{place}/benchmarks/{row.pk}",
        f"{place}/benchmarks/{row.pk}/record.json",
        f"{place}/benchmarks/{row.pk}/samples.csv",
        f"{place}/benchmarks/{row.pk}/samples.json",
        f"{place}/comparisons",
        f"environments/{row.environment_id}",
    ]
    for path in paths:
        for somebody in (api(), api(bob)):
            assert somebody.get(path).status_code == 404, path
        assert api(ada).get(path).status_code == 200, path
    for path in ("benchmarks", "devices", "environments"):
        assert api(bob).get(path).json()["items"] == []
        assert len(api(ada).get(path).json()["items"]) == 1
    assert api(bob).get("benchmarks").json()["keys"] == []


def test_rankings_are_narrowed_by_size_task_and_device(api, version, ada):
    row_of(version, 1.0)
    bytes_, parameters = 0, 0
    for item in api().get("benchmarks").json()["items"]:
        bytes_, parameters = item["bytes"], item["parameters"]
    assert bytes_ > 0
    assert parameters == 12
    for query, number in (
        (f"max_bytes={bytes_}", 1),
        (f"max_bytes={bytes_ - 1}", 0),
        ("max_parameters=12", 1),
        ("max_parameters=11", 0),
        ("task=image-classification", 1),
        ("task=fill-mask", 0),
        ("device=example-cpu-2-cores&runtime=onnxruntime&sort=throughput", 1),
        ("key=" + "0" * 64, 0),
    ):
        assert len(api().get(f"benchmarks?{query}").json()["items"]) == number, query
    for query in ("sort=p99", "max_bytes=-1", "max_bytes=x", "limit=0", "cursor=nothing"):
        assert api().get(f"benchmarks?{query}").status_code == 400, query


def test_a_maintainer_has_benchmarks_run(api, place, ada, bob):
    assert api(ada).post(f"{place}/benchmarks/runs", {}).status_code == 400  # no worker offers it
    services.see("w1", host="h1", pool="bench-cpu", capabilities=OFFERED)
    answer = api(ada).post(f"{place}/benchmarks/runs", {"batch": 4, "sweep_threads": [1, 2]})
    assert answer.status_code == 202, answer.content
    [job] = answer.json()["items"]
    assert (job["kind"], job["pool"], job["exclusive"]) == ("benchmark", "bench-cpu", "host")
    assert Job.objects.get(pk=job["uuid"]).input["sweep_threads"] == [1, 2]
    assert api(bob).post(f"{place}/benchmarks/runs", {}).status_code == 403
    assert api(ada).post(f"{place}/benchmarks/runs", {"batch": 0}).status_code == 400
    assert api(ada).post(f"{place}/benchmarks/runs", {"gate": {}}).status_code == 400
