"""Pools over HTTP, on pages and in metrics: who may pause and drain them, and what shows it."""

from __future__ import annotations

import pytest

from registry.models import Event
from runners.models import Job, PoolHold
from runners.queue import services
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db


def test_only_administrators_hold_pools(api, ada, admin):
    for client, status in ((api(), 401), (api(ada), 403), (api(admin, ["publish"]), 403)):
        for method, path in (
            ("GET", "pools"),
            ("POST", "pools/cpu/pause"),
            ("POST", "pools/cpu/drain"),
            ("POST", "pools/cpu/resume"),
            ("POST", "pools/none/pause"),
        ):
            assert client(method, path).status_code == status, (method, path)
    assert not PoolHold.objects.exists()
    assert not Event.objects.filter(verb__startswith="pool.").exists()


def test_a_pool_is_paused_drained_and_resumed(api, ada, admin):
    factories.submitted(ada)
    client = api(admin)
    services.see("w", host="h", pool="cpu,gpu-a100", features={})
    rows = {row["name"]: row for row in client.get("pools").json()["items"]}
    assert list(rows) == ["bench-cpu", "cpu", "gpu-a100", "light"]
    assert (rows["cpu"]["queued"], rows["cpu"]["workers"]) == (1, 1)
    assert {row["state"] for row in rows.values()} == {"open"}
    paused = client.post("pools/cpu/pause", {"reason": "A new disk"}).json()
    assert (paused["state"], paused["reason"]) == ("paused", "A new disk")
    assert paused["since"] is not None
    job = Job.objects.get()
    assert api(ada).get(f"jobs/{job.pk}").json()["waiting_for"].endswith("paused: A new disk")
    assert client.post("pools/cpu/drain").json()["state"] == "drained"
    assert client.post("pools/cpu/resume").json()["state"] == "open"
    problem(client.post("pools/gpu-none/pause"), 404, "not-found")
    problem(client.post("pools/cpu.urgent/pause"), 404, "not-found")
    problem(client.post("pools/cpu/pause", {"reason": "x" * 301}), 400, "invalid-request")


def test_the_page_of_workers_and_the_metrics_show_it(api, client, admin):
    assert b"hand out no job" not in client.get("/workers").content
    api(admin).post("pools/bench-cpu/pause", {"reason": "<b>A new disk</b>"})
    page = client.get("/workers").content
    assert b"hand out no job" in page
    assert b"&lt;b&gt;A new disk" in page
    from hub.server import gauges

    samples = [sample for metric in gauges._workers() for sample in metric.samples]
    assert [row.labels for row in samples if row.name == "hub_pools_held"] == [
        {"pool": "bench-cpu", "state": "paused"}
    ]
