"""Periodic tasks and the cost of jobs on /health: in words, and for administrators alone."""

from __future__ import annotations

import pytest

from frontend.presenters import upkeep
from registry.core import periodic, work_totals
from registry.core.work_totals import Cost
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_proof_costs_what_all_of_its_jobs_cost():
    work_totals.add("check", "passed", Cost(3.0, 2.0))
    work_totals.add("check", "passed", Cost(3.0, 2.0))
    work_totals.add("upgrade", "failed", Cost(10.0, 8.0))
    work_totals.add("benchmark", "passed", Cost(60.0, 50.0, 900.0))
    rows = {cost["title"]: cost for cost in upkeep.costs()}
    assert list(rows) == ["Proof of one version", "benchmark", "check", "upgrade"]
    proof = rows["Proof of one version"]
    assert (proof["count"], proof["seconds"], proof["cpu_seconds"]) == (
        "2 versions",
        "8\u202fs",
        "6\u202fs",
    )
    assert proof["energy"] == "not measured"
    assert rows["benchmark"]["energy"] == "900 J"
    work_totals.add("check", "errored", Cost(1.0))
    assert upkeep.costs()[0]["cpu_seconds"] == "not measured"
    assert rows["check"]["count"] == "2 attempts"


def test_only_administrators_see_them(client):
    work_totals.add("check", "passed", Cost(3.0, 2.0))
    with periodic.run("unused-files") as run:
        run.add(3_400_000)
        run.add(100_000)
    with pytest.raises(OSError, match="full"), periodic.run("tidy"):
        raise OSError("the disk is full")
    assert "Cost of jobs" not in client.get("/health").content.decode()
    client.force_login(factories.user("ada"))
    assert "Periodic tasks" not in client.get("/health").content.decode()
    client.force_login(factories.admin())
    page = client.get("/health").content.decode()
    for words in (
        "Unused files deleted",
        "2, 3.5\u202fMB",
        "OSError: the disk is full",
        "Cost of jobs",
    ):
        assert words in page
