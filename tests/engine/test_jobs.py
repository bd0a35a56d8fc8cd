"""Tasks of several stages in one child: what is kept of them, and what runs again."""

from __future__ import annotations

import os
import signal

import pytest

from runners.engine.confine import children
from runners.engine.confine.isolation import Limits
from runners.engine.jobs import Job, Request
from tests import kernel
from tests.engine.conftest import SUBJECT


@pytest.fixture
def job(tmp_path):
    limits = kernel.with_room(Limits(30, 10, 1 << 30, 1 << 16))
    request = Request("check", "model.onnx", {}, SUBJECT, limits, tmp_path)
    return Job(request, kernel.offered(), {}, children.Stop(), lambda *_: None)


def refuse():
    raise ValueError("no such axis")


def die():
    os.kill(os.getpid(), signal.SIGSEGV)


def flood():
    return "x" * (1 << 17)


def test_stages_get_the_endings_of_one_child(job):
    assert job.ahead({"first": os.getpid, "refused": refuse, "last": os.getpid})
    first, last = job.stage("first", refuse), job.stage("last", refuse)
    assert (first.kind, first.answer) == ("answered", last.answer)
    assert first.answer != os.getpid()
    refused = job.stage("refused", os.getpid)
    assert (refused.kind, refused.answer) == ("raised", ["ValueError", "no such axis"])


def test_an_ending_serves_one_stage_only(job):
    assert job.ahead({"first": os.getpid, "last": os.getpid})
    once, again = job.stage("first", os.getpid), job.stage("first", os.getpid)
    assert once.answer != again.answer


@pytest.mark.parametrize("bad", [die, flood])
def test_a_child_that_ends_leaves_each_task_to_its_own(job, bad):
    assert not job.ahead({"first": lambda: "sound", "second": bad, "third": lambda: "too"})
    endings = [
        job.stage(name, task) for name, task in (("first", lambda: "sound"), ("second", bad))
    ]
    assert endings[0].answer == "sound"
    assert endings[1].kind == ("signalled" if bad is die else "flooded")


@pytest.mark.parametrize("tasks", [{}, {"alone": os.getpid}])
def test_less_than_two_tasks_start_nothing(job, tasks):
    assert not job.ahead(tasks)
