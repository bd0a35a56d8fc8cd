"""Benchmarks over HTTP: results, samples, contributions, rankings, and who may see and do what."""

from __future__ import annotations

import copy
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from hub.protocol import federated, problems
from hub.protocol.signatures import benchmark_statement
from registry.models import RegisteredModel
from runners.benchmarks import challenges, contributions, selectors
from runners.engine.benchmark import record as form
from runners.engine.benchmark import summary, verdicts
from runners.models import Challenge, ContributedRecord, Job, Measurement
from runners.queue import services
from tests import factories, shared, timed
from tests.engine.benchmark.test_benchmark_rules import impossible
from tests.unit.runners.benchmarks.test_benchmarks import OFFERED, model_version, row_of

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    return model_version(factories.somebody("ada"))


@pytest.fixture
def version(start, ada):
    return shared.fresh(start)


@pytest.fixture
def place(version):
    return f"models/{version.model.ref}/versions/{version.number}"


def sent(version, median_ms=1.0, **more):
    return timed.record(version.files.get(path="model.onnx").blob_id, median_ms, **more)


def result(api, answer, **told):
    """The result of a contributed record, once a worker computed its outputs again."""
    row = timed.recomputed(ContributedRecord.objects.get(pk=answer.json()["id"]), **told)
    assert row.state == "accepted", row.reason
    [pk] = contributions.results_of(row).values_list("pk", flat=True)
    version = row.variant.version
    return api().get(f"models/{version.model.ref}/versions/{version.number}/benchmarks/{pk}").json()


def challenged(version, user, median_ms=1.0, **more):
    """A record with a challenge that this user was given."""
    return timed.contributed(version, user, median_ms, **more)


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


@pytest.mark.usefixtures("lists")
def test_a_record_is_contributed_under_its_senders_name(api, version, place, bob):
    row_of(version, 2.0)
    record = challenged(version, bob)
    answer = api(bob).post(f"{place}/benchmarks", record)
    assert answer.status_code == 201, answer.content
    assert answer.json()["state"] == "pending"
    address = answer["Location"].partition("/api/v1/")[2]
    item = result(api, answer)
    assert api().get(address).json()["benchmarks"] == [item["id"]]
    assert (item["origin"], item["contributor"], item["job"]) == ("contributed", "bob", None)
    assert (item["trust"], item["enrolled_worker"]) == ("unverified", "")
    again = api(bob).post(f"{place}/benchmarks", record).json()
    assert (again["id"], again["state"]) == (answer.json()["id"], "accepted")
    ranked = api().get("benchmarks").json()["items"]
    assert [(one["rank"], one["result"]["origin"]) for one in ranked] == [(1, "measured")]
    # Faster than what is ranked, and after it all the same.
    both = api().get("benchmarks?contributed=true").json()["items"]
    assert [(one["rank"], one["result"]["trust"]) for one in both] == [
        (1, "hub"),
        (None, "unverified"),
    ]


@pytest.mark.usefixtures("lists")
def test_unverified_results_have_no_place_and_are_in_no_count(api, version, place, bob, graphs):
    """Nothing else was measured: the fastest of nobody's is nobody."""
    record = challenged(version, bob, environment={"cpu_model": "Dream CPU"})
    result(api, api(bob).post(f"{place}/benchmarks", record))
    factories.work()
    assert api().get("benchmarks").json()["items"] == []
    for path in ("devices", "environments"):
        assert api().get(path).json()["items"] == [], path
    assert api().get("models?facets=measured_on").json()["facets"]["measured_on"] == []
    assert api().get("models?measured_on=dream-cpu-2-cores").json()["items"] == []
    assert api().get("models?sort=fastest").json()["setup"] is None

    def page(path):
        return api().get(path).content.decode()

    tab = page(f"/models/{version.model.ref}/v/1/benchmarks")
    assert "none ranked" in tab
    assert "Unverified" in tab
    body = tab.partition('class="rank num" data-word="Rank">')[2]
    assert body.startswith('<span class="muted">none')
    assert "at p50" not in page(f"/models/{version.model.ref}/v/1")
    ranking = page("/benchmarks")
    assert "Unverified, not ranked" in ranking
    assert "No ranked results yet" in ranking
    assert "Dream CPU" not in page("/").partition("<main")[2]


def test_who_contributed_may_remove_and_a_maintainer_and_nobody_else(api, version, place, ada, bob):
    measured = row_of(version)
    record = challenged(version, bob)
    address = (
        f"{place}/benchmarks/{result(api, api(bob).post(f'{place}/benchmarks', record))['id']}"
    )
    assert api().delete(address).status_code == 401
    assert api(factories.user("eve")).delete(address).status_code == 403
    assert api(bob).delete(address).status_code == 204
    again = api(bob).post(f"{place}/benchmarks", challenged(version, bob))
    address = f"{place}/benchmarks/{result(api, again)['id']}"
    assert api(ada).delete(address).status_code == 204
    assert api(ada).delete(f"{place}/benchmarks/{measured.pk}").status_code == 409
    assert list(Measurement.objects.all()) == [measured]


def tampered(version, bob):
    right = challenged(version, bob)
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
    found["before"] = sent(version, format_version=2, method="3")
    found["format 4"] = sent(version, format_version=4)
    return found


def test_a_tampered_record_is_refused_and_the_field_named(api, version, place, bob):
    pointers = {}
    for name, record in tampered(version, bob).items():
        answer = api(bob).post(f"{place}/benchmarks", record)
        assert answer.status_code == 422, (name, answer.content)
        problem = answer.json()
        assert problem["type"].endswith("/record-invalid")
        assert problem["rule"]
        assert problem["cure"]
        pointers[name] = problem["errors"][0]["pointer"]
    assert pointers["digest"] == "/environment_digest"
    assert pointers["key"] == "/comparability_key"
    assert pointers["p50"] == "/stats/latency_ms/p50"
    assert pointers["other file"] == "/model/sha256"
    assert pointers["beside"] == "/model/files"
    assert pointers["failed"] == "/status"
    assert pointers["before"] == pointers["format 4"] == "/format_version"
    assert not Measurement.objects.exists()


@pytest.mark.parametrize("name", impossible())
def test_what_no_machine_can_have_measured_is_refused_with_its_rule(api, version, place, bob, name):
    rule, field, made = impossible()[name]
    sha256 = version.files.get(path="model.onnx").blob_id
    nonce = challenges.issue(bob, version=version).nonce
    told = form.measured(made) | {
        "challenge": nonce,
        "model": made["model"] | {"sha256": sha256},
        "config": made["config"] | {"seed": form.seed_of(nonce)},
    }
    answer = api(bob).post(f"{place}/benchmarks", summary.complete(told))
    assert answer.status_code == 422, answer.content
    problem = answer.json()
    pointer = "/" + field.replace("[", "/").replace("]", "").replace(".", "/")
    assert (problem["rule"], problem["errors"][0]["pointer"]) == (rule, pointer)
    assert problem["cure"] in problem["detail"]


@pytest.mark.parametrize("told", ["99.0", "1.31.1.dev20261101", "not-exposed"])
def test_a_runtime_is_of_a_release_that_is_known(api, version, place, bob, told):
    record = challenged(version, bob, environment={"runtime_version": told})
    answer = api(bob).post(f"{place}/benchmarks", record)
    assert (answer.status_code, answer.json()["rule"]) == (422, "runtime-version")
    offered = {"versions": {"onnxruntime": told}}
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED | offered)
    assert api(bob).post(f"{place}/benchmarks", record).status_code == 201


def test_a_challenge_is_for_one_record_of_one_person_and_version(api, version, place, ada, bob):
    def rule(record, who=bob, where=place):
        answer = api(who).post(f"{where}/benchmarks", record)
        assert answer.status_code in (201, 422), answer.content
        return answer.json().get("rule", "kept")

    assert rule(sent(version)) == "challenge"  # none
    assert rule(sent(version, challenge="ab" * 32)) == "challenge"  # never given
    record = challenged(version, bob)
    assert rule(record, factories.user("eve")) == "challenge"  # another's
    assert rule(record) == "kept"
    other = sent(version, 2.0, challenge=record["challenge"], config=record["config"])
    assert rule(other) == "challenge"  # used
    fresh = challenged(version, bob)
    seeded = sent(version, challenge=fresh["challenge"], config={"seed": 0})
    assert rule(seeded) == "challenge"  # inputs of one's own
    Challenge.objects.filter(pk=fresh["challenge"]).update(issued_at=timezone.now())
    assert rule(fresh) == "challenge"  # younger than the measurement
    late = challenged(version, bob)
    past = timezone.now() - timedelta(minutes=1)
    Challenge.objects.filter(pk=late["challenge"]).update(expires_at=past)
    assert rule(late) == "challenge"  # expired
    services.tidy()
    assert not Challenge.objects.filter(pk=late["challenge"]).exists()
    assert Challenge.objects.filter(pk=fresh["challenge"]).exists()


def test_a_challenge_is_given_to_whoever_may_have_the_files(api, version, place, bob):
    address = f"{place}/benchmarks/challenges"
    assert api().post(address).status_code == 401
    answer = api(bob).post(address)
    assert answer.status_code == 201
    told = answer.json()
    assert told["seed"] == form.seed_of(told["challenge"])
    assert told["issued_at"] < told["expires_at"]
    for _ in range(19):
        assert api(bob).post(address).status_code == 201
    assert api(bob).post(address).status_code == 413
    RegisteredModel.objects.update(gate="manual")
    assert api(factories.user("eve")).post(address).status_code == 403
    RegisteredModel.objects.update(visibility="private")
    assert api(bob).post(address).status_code == 404


@pytest.mark.usefixtures("lists")
def test_what_an_enrolled_worker_signs_is_trusted_until_it_is_revoked(
    api, version, place, ada, bob
):
    boss = factories.user("boss")
    type(boss).objects.filter(pk=boss.pk).update(is_superuser=True)
    boss.refresh_from_db()
    private = federated.new_key()
    given = {"name": "lab-1", "owner": "bob", "public_key": federated.public_key(private)}
    assert api(bob).post("enrolled-workers", given).status_code == 403
    answer = api(boss, "admin").post("enrolled-workers", given)
    assert answer.status_code == 201, answer.content
    assert api(boss, "admin").post("enrolled-workers", given).status_code == 409
    assert (
        api(boss, "admin").post("enrolled-workers", given | {"owner": "nobody"}).status_code == 400
    )
    assert (
        api(boss, "admin").post("enrolled-workers", given | {"public_key": "x"}).status_code == 400
    )
    assert [one["name"] for one in api(boss, "admin").get("enrolled-workers").json()["items"]] == [
        "lab-1"
    ]
    assert api(bob).get("enrolled-workers").status_code == 403

    def send(record, key=private, who=bob, worker="lab-1"):
        signature = federated.sign(benchmark_statement(record["content_sha256"]), key)
        return api(who).post(f"{place}/benchmarks", record, hub_signature=f"{worker} {signature}")

    record = challenged(version, bob)
    assert send(record, key=federated.new_key()).status_code == 422
    assert send(record, worker="lab-2").status_code == 422
    assert send(challenged(version, ada), who=ada).status_code == 422
    answer = send(record)
    assert answer.status_code == 201, answer.content
    item = result(api, answer)
    assert (item["trust"], item["enrolled_worker"]) == ("enrolled", "lab-1")
    factories.work()
    [ranked] = api().get("benchmarks").json()["items"]
    assert (ranked["rank"], ranked["result"]["id"]) == (1, item["id"])
    [facet] = api().get("models?facets=measured_on").json()["facets"]["measured_on"]
    assert facet["value"] == item["device"]
    assert api(bob).delete("enrolled-workers/lab-1").status_code == 403
    assert api(boss, "admin").delete("enrolled-workers/lab-1").status_code == 204
    assert api(boss, "admin").delete("enrolled-workers/lab-9").status_code == 404
    factories.work()
    assert api().get("benchmarks").json()["items"] == []
    assert api().get(f"models?measured_on={item['device']}").json()["items"] == []
    [item] = api().get(f"{place}/benchmarks").json()["items"]
    assert item["trust"] == "unverified"
    assert send(challenged(version, bob)).status_code == 422


def test_contributing_has_its_limits(api, version, place, bob, monkeypatch):
    assert api().post(f"{place}/benchmarks", sent(version)).status_code == 401
    assert api(bob).post(f"{place}/benchmarks", b"{").status_code == 400
    assert api(bob).post(f"{place}/benchmarks", b"[" * 100_000).status_code == 400
    monkeypatch.setattr(contributions, "MOST_BYTES", 1000)
    assert api(bob).post(f"{place}/benchmarks", sent(version)).status_code == 413
    monkeypatch.undo()
    monkeypatch.setattr(contributions, "_OF_ONE", 1)
    assert api(bob).post(f"{place}/benchmarks", challenged(version, bob)).status_code == 201
    last = challenged(version, bob, 2.0)
    assert api(bob).post(f"{place}/benchmarks", last).status_code == 413
    RegisteredModel.objects.update(gate="manual")
    assert api(bob).post(f"{place}/benchmarks", last).status_code == 403
    RegisteredModel.objects.update(visibility="private")
    assert api(bob).post(f"{place}/benchmarks", last).status_code == 404


def test_sending_and_removing_again_and_again_fills_no_disk(api, version, place, bob, monkeypatch):
    """Files of a published version stay, so what was removed counts on."""
    monkeypatch.setattr(contributions, "_OF_ONE", 2)
    monkeypatch.setattr(contributions, "_OF_ALL", 3)
    eve = factories.user("eve")

    def send(who, median_ms):
        return api(who).post(f"{place}/benchmarks", challenged(version, who, median_ms))

    def stored():
        return version.files.filter(path__startswith="benchmarks/").count()

    for median_ms in (1.0, 2.0):
        address = result(api, send(bob, median_ms))["id"]
        assert api(bob).delete(f"{place}/benchmarks/{address}").status_code == 204
    answer = send(bob, 3.0)
    assert (answer.status_code, answer.json()["title"], stored()) == (
        413,
        "Quota exceeded",
        2,
    )
    pending = send(eve, 4.0)
    assert pending.status_code == 201
    assert send(eve, 5.0).status_code == 413
    result(api, pending)
    assert send(eve, 5.0).status_code == 413
    assert (stored(), Measurement.objects.count()) == (3, 1)


def test_a_version_that_is_withdrawn_meanwhile_takes_nothing(version, bob):
    stale = copy.copy(version)
    type(version).objects.filter(pk=version.pk).update(state="withdrawn", reason="wrong")
    with pytest.raises(problems.StateConflict):
        contributions.contribute(bob, version=stale, text=json.dumps(challenged(version, bob)))
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


@pytest.mark.usefixtures("lists")
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


@pytest.mark.usefixtures("lists")
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
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED)
    answer = api(ada).post(f"{place}/benchmarks/runs", {"batch": 4, "sweep_threads": [1, 2]})
    assert answer.status_code == 202, answer.content
    [job] = answer.json()["items"]
    assert (job["kind"], job["pool"], job["exclusive"]) == ("benchmark", "bench-cpu", "host")
    assert Job.objects.get(pk=job["uuid"]).input["sweep_threads"] == [1, 2]
    assert api(bob).post(f"{place}/benchmarks/runs", {}).status_code == 403
    assert api(ada).post(f"{place}/benchmarks/runs", {"batch": 0}).status_code == 400
    assert api(ada).post(f"{place}/benchmarks/runs", {"gate": {}}).status_code == 400


def test_a_run_has_a_load_and_sizes_that_fit_the_model(api, ada):
    port = {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 4]}
    version = factories.version(ada, factories.model(ada, "sized"), facts={
        "inputs": [port]
    })  # fmt: skip
    place = f"models/{version.model.ref}/versions/{version.number}"
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED)
    load = {
        "scenario": "server",
        "concurrency": 4,
        "latency_bound_ms": 20.0,
        "bound_percentile": "p90",
        "shapes": {"N": 2},
        "input_shapes": {"x": [2, 4]},
        "provider": "CPUExecutionProvider",
        "provider_options": {"enable_mem_pattern": "false"},
    }
    [job] = api(ada).post(f"{place}/benchmarks/runs", load).json()["items"]
    assert load.items() <= Job.objects.get(pk=job["uuid"]).input.items()
    for wrong, pointer, words in (
        ({"concurrency": 2}, "/concurrency", "except in the server scenario"),
        ({"scenario": "server", "latency_bound_ms": -1}, "/latency_bound_ms", "0 to 600000"),
        (
            {"provider_options": {"use_tf32": "1"}},
            "/provider_options",
            "CPUExecutionProvider has no option 'use_tf32'",
        ),
        ({"shapes": {"Q": 2}}, "/shapes/Q", "no dynamic dimension named 'Q'; it has: N"),
        ({"input_shapes": {"z": [2]}}, "/input_shapes/z", "no input named 'z'; it has: x"),
        ({"input_shapes": {"x": [2, 5]}}, "/input_shapes/x", "contradicts the input x: it is Nx4"),
    ):
        answer = api(ada).post(f"{place}/benchmarks/runs", wrong)
        assert answer.status_code == 400, wrong
        [error] = answer.json()["errors"]
        assert error["pointer"] == pointer
        assert words in error["detail"]


@pytest.mark.usefixtures("lists")
def test_loads_that_ask_for_throughput_are_ranked_by_it(api, version, place):
    """Two results under one key: the slower median serves more within the same bound."""

    def row(rate, median_ms):
        bound = {"latency_ms": 50.0, "percentile": "p50", "rate": "search", "rule": "",
                 "trials": [trial(rate)]}  # fmt: skip
        config = {"scenario": "server", "rate_per_s": rate, "concurrency": 2, "bound": bound}
        return row_of(version, median_ms, config=config, method=form.LOAD_METHOD_VERSION)

    def trial(rate):
        return {"rate_per_s": rate, "samples": 100, "over_bound": 0, "unserved": 0,
                "estimate_ms": 1.0, "processes": 1}  # fmt: skip

    slow = row(100.0, 2.0)
    [one] = api().get(f"{place}/benchmarks").json()["items"]
    assert (one["concurrency"], one["latency_bound_ms"]) == (2, 50.0)
    fast = row(200.0, 1.0)
    assert slow.comparability_key == fast.comparability_key
    assert slow.is_by_throughput
    fast.throughput_per_s, slow.throughput_per_s = 100.0, 200.0
    [group] = selectors.groups([fast, slow])
    assert group.ranked == (slow, fast)
    assert selectors.rank_of(fast, group) == 2
    standings = api().get("benchmarks").json()["items"]
    assert [item["rank"] for item in standings] == [1]
