"""The same hub on PostgreSQL, Redis and Celery: nothing is lost whichever part dies."""

from __future__ import annotations

from tests import samples
from tests.faults.conftest import processes, wait_for
from tests.faults.test_kill import running
from tests.faults.test_races import CLIENTS, at_once


def submit(hub, name, content):
    path = hub.draft(name, content)
    status, _, body = hub.call("POST", f"{path}/submit", {"publish": True})
    assert status == 200, body
    return path


def jobs_of(hub, path):
    return [hub.call("GET", f"jobs/{job['uuid']}")[2] for job in hub.call("GET", path)[2]["jobs"]]


def test_a_celery_worker_checks_and_publishes(production):
    path = submit(production, "net", samples.mlp())
    production.wait_until(path, "published", 60)
    assert {(job["kind"], job["state"], job["attempt"]) for job in jobs_of(production, path)} == {
        ("describe", "succeeded", 1),
        ("check", "succeeded", 1),
    }
    _, _, ready = production.call("GET", "/readyz")
    assert ready["database"] == {"ok": True, "engine": "postgresql"}
    assert ready["cache"] == {"ok": True}
    wait_for(
        lambda: production.call("GET", "/readyz")[2]["workers"]["ok"], "a worker's sign of life"
    )


def test_numbers_and_names_are_unique_on_postgresql(production):
    taken = at_once(
        lambda _: production.call("POST", "models", {"namespace": "zoo", "name": "prize"})[0]
    )
    assert sorted(taken) == [201] + [409] * (CLIENTS - 1)
    numbers = at_once(
        lambda _: production.call("POST", "models/zoo/prize/versions", {})[2]["number"]
    )
    assert sorted(numbers) == list(range(1, CLIENTS + 1))


def test_search_on_postgresql(production):
    production.wait_until(submit(production, "finder-net", samples.mlp(hidden=7)), "published", 60)
    found = production.call("GET", "models?q=finder")[2]
    assert [item["ref"] for item in found["items"]] == ["zoo/finder-net"]


def test_a_worker_killed_in_the_middle_of_a_job(production):
    path = submit(production, "slow", samples.function_doubling(18))
    wait_for(
        lambda: (running(production, path)() or {}).get("kind") == "check", "the check to run", 60
    )
    orphans = production.kill_worker()
    wait_for(
        lambda: not {pid for pid, _, _ in processes()} & set(orphans), "its pool to die with it", 10
    )
    production.start_worker()
    wait_for(lambda: production.state(path) in ("published", "draft"), "another attempt", 90)
    check = next(job for job in jobs_of(production, path) if job["kind"] == "check")
    assert check["attempt"] == 2


def test_redis_killed_and_started_again(production, redis):
    redis.kill()
    path = submit(production, "while-away", samples.mlp(hidden=9))
    assert production.state(path) == "submitted"
    for page in ("/", "/models", "/models?opset_max=17", "/login", "/jobs"):
        assert production.call("GET", page)[0] == 200, page
    redis.start()
    production.wait_until(path, "published", 90)
    assert {job["attempt"] for job in jobs_of(production, path)} == {1}
