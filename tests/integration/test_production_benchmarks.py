"""Benchmarks by a Celery worker of the bench pool, on PostgreSQL and Redis: a result, a verdict."""

from __future__ import annotations

import pytest

from runners.engine.benchmark import verdicts, verification
from tests import samples
from tests.faults.conftest import wait_for


@pytest.fixture
def bench(production):
    """A worker of the bench pool, for one test."""
    production.start_worker("bench", "--pool", "bench-cpu", HUB_BENCH="light")
    worker = production.wait_for_worker("bench")
    yield worker
    production.stop_worker("bench")


def publish(hub, name, content):
    path = hub.draft(name, content)
    status, _, body = hub.call("POST", f"{path}/submit", {"publish": True})
    assert status == 200, body
    hub.wait_until(path, "published", 60)
    return path


def only(hub, path, what):
    """The one result or verdict of a version, once it is there."""
    found = wait_for(
        lambda: hub.call("GET", f"{path}/{what}")[2]["items"], f"{what} of {path}", 180
    )
    assert len(found) == 1
    return found[0]


def test_a_bench_worker_times_versions_and_compares_them(production, bench):
    assert bench["queues"] == ["bench-cpu"]
    first = publish(production, "timed", samples.mlp())
    row = only(production, first, "benchmarks")
    assert row["status"] in ("accepted", "noisy")
    assert row["p50_ms"] > 0
    record = production.call("GET", f"{first}/benchmarks/{row['id']}/record.json")[2]
    assert verification.problems(record) == []
    assert len(record["processes"]) == 5
    second = publish(production, "timed", samples.mlp(hidden=9))
    told = only(production, second, "comparisons")
    assert told["baseline"] == 1
    assert told["verdict"] in list(verdicts.SpeedChange)
    job = production.job(told["job"])
    assert (job["kind"], job["pool"], job["state"]) == ("compare-speed", "bench-cpu", "succeeded")
    assert production.worker_of(job) == "bench"
    assert len(told["ratio_interval"]) == 2
