"""A forger: each forgery is an honest record with a fresh challenge and one thing changed."""

from __future__ import annotations

import copy
import json
import random

import pytest

from hub.protocol import problems
from runners.benchmarks import challenges, contributions
from runners.engine.benchmark import output_agreement, physics, power, summary
from runners.engine.benchmark import record as form
from runners.models import Challenge, ContributedRecord, Measurement
from tests import factories, shared, timed
from tests.unit.runners.benchmarks.test_benchmarks import model_version

pytestmark = pytest.mark.django_db

COMMIT = "git-branch=HEAD, git-commit-id={}, build type=Release"
# A guest with two processors, as clouds lend them.
MACHINE = {
    "cpu_model": "AMD EPYC 7763",
    "cpu_family": "25",
    "cpu_model_number": "1",
    "logical_cpus": 2,
    "physical_cpus": 2,
    "usable_cpus": 2,
    "cpu_affinity": [0, 1],
    "governor": form.NOT_EXPOSED,
    "turbo": form.NOT_EXPOSED,
    "virtualized": "yes",
    "kernel": "6.1.0-fc-v1",
    "runtime_version": "1.31.1",
    "runtime_build": COMMIT.format("6af1a93"),
}
PLAN = {"processes": 6, "most_processes": 6, "budget_s": 120.0}


@shared.rows
def start():
    return model_version(factories.somebody("ada"))


@pytest.fixture
def version(start, ada):
    return shared.fresh(start)


def samples(ordinal, median_ns=1_000_000, count=400):
    draw = random.Random(ordinal)
    return [int(draw.gauss(median_ns, 0.015 * median_ns)) for _ in range(count)]


def process(ordinal, values=None, **more):
    values = samples(ordinal, 1_000_000 + 2_000 * ordinal) if values is None else values
    return timed.process(ordinal, values, **more)


def honest(version, user):
    """The measured part of what `hub bench --contribute` sends from such a machine."""
    row = version.variants.select_related("entry").get(name="default")
    nonce = challenges.issue(user, version=version).nonce
    issued = Challenge.objects.get(pk=nonce).issued_at
    Challenge.objects.filter(pk=nonce).update(issued_at=issued.replace(year=issued.year - 1))
    return timed.measured(
        row.entry.blob_id,
        challenge=nonce,
        config={"seed": form.seed_of(nonce)} | PLAN,
        environment=MACHINE,
        processes=[process(ordinal) for ordinal in range(6)],
    )


def each(told, **changed):
    for row in told["processes"]:
        row.update(changed)


def replaced(told, values_of):
    first = told["processes"][0]["samples_ns"]
    told["processes"] = [process(0, first)] + [
        process(ordinal, values_of(first, random.Random(ordinal))) for ordinal in range(1, 6)
    ]


def too_fast(told):
    told["processes"] = [process(k, samples(k, 50_000)) for k in range(6)]


def resampled(told):
    replaced(told, lambda first, draw: draw.choices(first, k=len(first)))


def noisy_copy(told):
    replaced(told, lambda first, draw: [int(value * draw.gauss(1, 0.02)) for value in first])


def digest_of_a_pattern(told):
    for row in told["processes"]:
        row["outputs"] = row["outputs"] | {"sha256": "ab" * 32}


def another_device(told):
    told["environment"] |= {"cpu_model": "AMD EPYC 9754", "usable_cpus": 256, "logical_cpus": 256}


def another_device_in_part(told):
    told["environment"] |= {"cpu_model": "AMD EPYC 9755"}


def bare_metal(told):
    told["environment"] |= {"virtualized": "no", "governor": "performance", "turbo": "off"}


def batch_of_one(told):
    """Measured with four rows: the outputs have four."""
    for row in told["processes"]:
        [tensor] = row["outputs"]["tensors"]
        row["outputs"] = row["outputs"] | {"tensors": [tensor | {"shape": [4, 2]}]}


def slower_half_left_out(told):
    told["processes"] = told["processes"][:3]


def every_second_left_out(told):
    told["processes"] = told["processes"][::2]


def milliwatt(told):
    each(told, meter_j={"intel-rapl:0": 0.0004})
    told["power"] = {"provenance": "measured", "method": power.RAPL, "meters": ["intel-rapl:0"]}


def milliwatt_on_bare_metal(told):
    milliwatt(told)
    told["environment"] |= {"virtualized": "no", "kernel": "6.1.0"}


def little_processor_time(told):
    for row in told["processes"]:
        row["cpu_time_s"] = 0.05 * row["wall_s"]


def digest_of_zeros(told):
    told["provider"] = told["provider"] | {"optimised_model_sha256": "0" * 64}


def patched_build(told):
    told["environment"] |= {"runtime_build": COMMIT.format("0badc0de")}


def another_version(told):
    told["environment"] |= {"runtime_version": "1.32.0"}


def four_kilobytes(told):
    each(told, peak_rss_bytes=4096, floor_rss_bytes=4096)


def another_model(told):
    """Outputs of which nothing was computed."""
    for row in told["processes"]:
        [tensor] = row["outputs"]["tensors"]
        row["outputs"] = row["outputs"] | {"tensors": [tensor | {"elements": [0.5, 0.5]}]}


FORGERIES = {
    too_fast: "worker-speed",
    resampled: "samples-drawn",
    noisy_copy: "samples-with-noise",
    digest_of_a_pattern: "digest-bytes",
    another_device: "processor",
    another_device_in_part: "processor",
    bare_metal: "clock-of-governor",
    batch_of_one: "has the shape",
    slower_half_left_out: "all-processes",
    every_second_left_out: "all-processes",
    milliwatt: "power-floor",
    milliwatt_on_bare_metal: "power-floor",
    little_processor_time: "processor-share",
    digest_of_zeros: "digest-bytes",
    patched_build: "build-of-version",
    another_version: "build-of-version",
    four_kilobytes: "memory-floor",
    another_model: "2 of 2 elements differ",
}


def sent(version, user, told):
    text = json.dumps(summary.complete(told))
    return contributions.contribute(user, version=version, text=text)


@pytest.mark.usefixtures("lists")
def test_an_honest_record_is_pending_until_a_worker_agrees(api, version, bob):
    row = sent(version, bob, honest(version, bob))
    assert (row.state, Measurement.objects.count()) == ("pending", 0)
    place = f"models/{version.model.ref}/versions/1/benchmarks"
    assert api().get(place).json()["items"] == []
    assert not version.files.filter(path__startswith="benchmarks/").exists()
    page = api().get(f"/models/{version.model.ref}/v/1/benchmarks").content.decode()
    assert "Contributed records without results" in page
    assert timed.recomputed(row).state == "accepted"
    [item] = api().get(place).json()["items"]
    assert item["device_title"].endswith("(claimed)")
    assert (item["origin"], item["trust"]) == ("contributed", "unverified")
    assert bytes(row.content) == b""
    page = api().get(f"/models/{version.model.ref}/v/1/benchmarks").content.decode()
    assert "AMD EPYC 7763, 2 cores (claimed)" in page
    timed.benchmark(version, 1.5, environment=MACHINE)
    device = api().get(f"/devices/{item['device']}").content.decode()
    assert "(claimed)" in device


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forgery_is_refused_and_carries_no_number(api, version, bob, forge):
    told = copy.deepcopy(honest(version, bob))
    forge(told)
    try:
        row = sent(version, bob, told)
    except problems.RecordInvalid as refusal:
        reason = str(refusal)
    else:
        assert timed.recomputed(row).state == "refused"
        reason = row.reason
        page = api().get(f"/models/{version.model.ref}/v/1/benchmarks").content.decode()
        assert row.reason.split()[0] in page
    assert FORGERIES[forge] in reason
    assert not Measurement.objects.exists()
    # The challenge is free for an honest record.
    assert Challenge.objects.get(pk=told["challenge"]).used_at is None


def test_every_physical_rule_has_a_forgery_or_a_reason():
    names = {rule.name for rule in physics.RULES}
    assert len(names) == len(physics.RULES)
    assert all(rule.reason and rule.cure for rule in physics.RULES)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("meter-in-guest", milliwatt),
        ("guest-kernel", lambda told: told["environment"].update(virtualized="no")),
        ("batch-of-inputs", lambda told: told["config"].update(batch=4)),
    ],
)
def test_rules_that_another_one_hides(version, bob, rule, change):
    told = honest(version, bob)
    change(told)
    evidence = physics.Evidence(summary.complete(told))
    assert rule in {broken.name for broken, _ in physics.breaches(evidence)}


def test_speed_has_a_limit_by_the_work_of_the_model(version, bob):
    record = summary.complete(honest(version, bob))
    broken = [rule.name for rule, _ in physics.breaches(physics.Evidence(record, macs=1e12))]
    assert broken == ["macs-per-second"]
    assert not list(physics.breaches(physics.Evidence(record, macs=1e7, worker_ms=4.0)))


def test_each_part_of_a_sweep_is_computed_again(version, bob):
    told = honest(version, bob)
    config = told["config"] | {
        "batch": 2,
        "inputs": [dict(told["config"]["inputs"][0], shape=[2, 4])],
    }
    part = summary.complete(copy.deepcopy(told) | {"config": config, "sweeps": []})
    told["sweeps"] = [{"axis": "batch", "value": 2, "record": part}]
    row = sent(version, bob, told)
    assert [one["ports"][0]["shape"][0] for one in row.job.input["parts"]] == [1, 2]
    assert timed.recomputed(row).state == "accepted", row.reason
    assert contributions.results_of(row).count() == 2
    for process in part["processes"]:
        process["outputs"]["tensors"] = []
    fresh = honest(version, bob) | {"sweeps": []}
    part |= {name: fresh[name] for name in ("challenge",)}
    part["config"] = config | {"seed": fresh["config"]["seed"]}
    fresh["sweeps"] = [
        {"axis": "batch", "value": 2, "record": summary.complete(form.measured(part))}
    ]
    row = timed.recomputed(sent(version, bob, fresh))
    assert (row.state, "it has 0 outputs" in row.reason) == ("refused", True)


def test_a_model_that_no_worker_can_run_gives_no_result(version, bob):
    row = timed.recomputed(sent(version, bob, honest(version, bob)), outcome="failed")
    assert (row.state, Measurement.objects.count()) == ("refused", 0)
    assert "No worker of this hub could recompute" in row.reason
    row = timed.recomputed(sent(version, bob, honest(version, bob)), repeats=False)
    assert "differ from one run to the next" in row.reason


def test_an_open_challenge_is_given_again(version, bob):
    first = challenges.issue(bob, version=version)
    assert challenges.issue(bob, version=version).nonce != first.nonce
    for _ in range(30):
        assert challenges.issue(bob, version=version, reuse=True).nonce == first.nonce
    told = honest(version, bob)
    row = sent(version, bob, told)
    timed.recomputed(row, tensors=[])
    assert Challenge.objects.get(pk=told["challenge"]).used_at is None
    assert sent(version, bob, told).state == "pending"
    assert ContributedRecord.objects.count() == 1


def test_tolerances_are_those_of_providers():
    tensor = timed.TENSOR
    near = tensor | {"elements": [0.2502, -0.5]}
    cpu = output_agreement.tolerance("CPUExecutionProvider", "fp32")
    assert output_agreement.disagreement([near], [tensor], cpu) == ""
    far = tensor | {"elements": [0.254, -0.5]}
    assert output_agreement.disagreement([far], [tensor], cpu).startswith("output 1: 1 of 2")
    coarse = output_agreement.tolerance("CUDAExecutionProvider", "fp32")
    assert output_agreement.disagreement([far], [tensor], coarse) == ""
    nan = tensor | {"elements": ["NaN", -0.5]}
    assert output_agreement.disagreement([nan], [tensor], coarse)
