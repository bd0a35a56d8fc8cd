"""Urgent work beside a measurement: pauses, repetitions, cuts, and noisy results in the end."""

from __future__ import annotations

import json
import time

import pytest

from runners.engine.benchmark import summary, urgent_work
from runners.engine.benchmark.options import Options
from runners.engine.benchmark.urgent_work import Cutter, UrgentWork
from runners.engine.confine.children import Stop
from runners.sandbox import Limits, Request
from tests import samples
from tests.engine.benchmark import timings
from tests.engine.conftest import SUBJECT

LIMITS = Limits(memory_bytes=2 << 30, output_bytes=4 << 20, job_seconds=120)


class Script(Stop):
    """A worker that answers by a script, and then that nothing runs beside."""

    def __init__(self, *answers, then=False):
        self.answers, self.then = list(answers), then

    def urgent_since(self, moment):
        return self.answers.pop(0) if self.answers else self.then


class Moment(Stop):
    """A worker that does urgent work for a moment, beginning at the question of this number."""

    def __init__(self, question):
        self.questions, self.at = question, None

    def urgent_since(self, moment):
        self.questions -= 1
        if self.questions == 0:
            self.at = time.monotonic()
        return self.at is not None and moment <= self.at


@pytest.fixture
def record(sandbox, stored):
    """Measure a small model beside what the script says; gives its record."""

    def go(script, **options):
        made = {}

        def keep(report, folder):
            made.update(json.loads((folder / "record.json").read_text()))
            return report

        given = timings.TIMED | {"processes": 5, "most_processes": 5} | options
        files = stored({"model.onnx": samples.mlp()})
        request = Request("benchmark", "model.onnx", files, SUBJECT, given, LIMITS)
        report = sandbox.run(request, urgent_since=script.urgent_since, keep=keep)
        return report, made

    return go


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(urgent_work, "CUT_SECONDS", 0.0)
    monkeypatch.setattr(urgent_work, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(urgent_work, "_PAUSE_SECONDS", 0.0)


def test_a_process_beside_urgent_work_is_repeated(record):
    # Asked before the wait for a quiet host, before the first process, and in its course.
    _, made = record(Moment(3))
    assert len(made["processes"]) == 5
    assert made["quiet"]["urgent_work"]["repeated"] == 1
    assert made["quiet"]["urgent_work"]["cut"] == 0
    assert not any("urgent_work" in each["interference"] for each in made["processes"])


def test_without_urgent_work_nothing_is_lost(record):
    _, made = record(Script())
    assert made["quiet"]["urgent_work"] == {"lost_s": 0.0, "repeated": 0, "cut": 0}


def test_in_the_end_it_measures_beside_the_work_and_says_so(record):
    report, made = record(Script(then=True), budget_seconds=1.0)
    assert made["status"] == "noisy"
    assert "urgent-work" in made["reasons"]
    assert all("urgent-work" in each["reasons"] for each in made["processes"])
    assert made["quiet"]["urgent_work"]["lost_s"] >= 1.0
    assert any("urgent-work" in finding.message for finding in report.findings)


def test_a_measurement_pauses_until_urgent_work_ends(quick):
    stop = Script(True, True, False, True)
    UrgentWork(stop, 60.0).pause()
    assert stop.answers == [True]


def test_pauses_end_with_the_patience():
    work = UrgentWork(Script(then=True), 1.0)
    work.pause()
    assert 1.0 <= work.lost_seconds < 10.0
    assert not work.is_given_way


def test_a_long_process_is_cut_three_times(quick):
    work = UrgentWork(Script(then=True), 60.0)
    for _ in range(urgent_work.CUTS):
        cutter = Cutter(work)
        assert not cutter.requested()  # the first look
        assert cutter.requested()
        assert cutter.has_cut
        work.repeat(cutter.began, is_cut=cutter.has_cut)
    last = Cutter(work)
    assert not any(last.requested() for _ in range(5))


def test_a_process_alone_is_not_cut(quick):
    cutter = Cutter(UrgentWork(Script(), 60.0))
    assert not any(cutter.requested() for _ in range(5))


def test_a_process_beside_urgent_work_does_not_count():
    gate = Options().gate_in_force()
    beside = timings.process(1, interference=timings.QUIET | {"urgent_work": True})
    assert summary.faults(beside, gate) == ["urgent-work"]


def test_time_that_urgent_work_takes_has_its_share_of_the_limit():
    short, long = Options(budget_seconds=10.0), Options(budget_seconds=20.0)
    assert long.job_seconds() - short.job_seconds() == 20.0
