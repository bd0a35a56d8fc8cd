"""A worker that has no job for long ends its engine, unless it keeps it warm for others."""

from __future__ import annotations

import pytest

from registry.core import changes
from runners.sandbox import Sandbox
from runners.workers.worker import Worker


@pytest.fixture
def sandbox(tmp_path):
    with Sandbox(tmp_path) as made:
        made.level()
        yield made


@pytest.mark.parametrize(("idle_seconds", "is_warm"), [(None, True), (3600.0, True), (0.0, False)])
def test_only_a_worker_with_a_limit_ends_its_engine(idle_seconds, is_warm, sandbox, db):
    worker = Worker(["cpu"], idle_seconds=idle_seconds)
    worker._turn(sandbox)
    assert sandbox.is_warm() == is_warm


def test_a_worker_without_engine_looks_after_those_that_have_one(monkeypatch, db, tmp_path):
    """Their look comes within `LOOK_SECONDS`, and this one waits longer."""
    slept = []
    monkeypatch.setattr("runners.workers.worker.time.sleep", slept.append)
    monkeypatch.setattr(changes, "wait", lambda *_: slept.append("changed"))
    with Sandbox(tmp_path) as cold:
        Worker(["cpu"], idle_seconds=0.0)._turn(cold)
    assert slept[0] == "changed"
    assert slept[1] > changes.LOOK_SECONDS
