"""Periodic work is begun by Celery beat and by the embedded worker alike."""

from __future__ import annotations

import threading
import time

import pytest
from celery import current_app

from hub.server.schedule import SCHEDULE
from registry.core import usage
from registry.models import Lease
from registry.storage.verification import SLICE_SECONDS
from runners import tasks
from runners.benchmarks import predictions
from runners.queue import services
from runners.workers import storage_verification
from runners.workers.periodic_tasks import LISTS_SECONDS
from runners.workers.worker import Worker


@pytest.fixture
def begun(monkeypatch):
    """When storage began to be read again, as threads that have ended."""
    threads = []

    def start():
        threads.append(threading.Thread(target=lambda: None))
        threads[-1].start()
        threads[-1].join()
        return threads[-1]

    monkeypatch.setattr(storage_verification, "start", start)
    return threads


def test_every_periodic_task_is_one_of_ours():
    assert {entry["task"] for entry in SCHEDULE.values()} <= set(current_app.tasks)
    assert tasks.scrub.name in current_app.tasks


def test_beat_reads_storage_again_every_hour(begun, db):
    entry = SCHEDULE["scrub"]
    assert entry["schedule"] == SLICE_SECONDS == 3600
    current_app.tasks[entry["task"]]()
    assert len(begun) == 1


def test_beat_refreshes_the_downloads_of_lists(monkeypatch, db):
    refreshed = []
    monkeypatch.setattr(usage, "refresh_lists", lambda: refreshed.append(1))
    current_app.tasks[SCHEDULE["downloads"]["task"]]()
    assert refreshed == [1]


def test_beat_and_the_embedded_worker_keep_predictions_up(monkeypatch, db):
    rounds = []
    monkeypatch.setattr(predictions, "keep_up", lambda: rounds.append(1))
    current_app.tasks[SCHEDULE["predictions"]["task"]]()
    assert rounds == [1]
    Lease.objects.all().delete()  # the turn is over
    worker = Worker(["light"])
    worker._ran["predictions"] = time.monotonic() - LISTS_SECONDS - 1
    monkeypatch.setattr(worker, "_begin_tasks", lambda _: None)
    worker.step(None)
    worker.step(None)
    assert rounds == [1, 1]


@pytest.mark.parametrize(("queue", "times"), [("light", 2), ("cpu.urgent", 0)])
def test_the_embedded_worker_reads_storage_again_every_hour(begun, queue, times, db):
    worker = Worker([queue])
    first = time.monotonic() + 61
    for now in (first - 10, first, first + 10):
        worker._begin_tasks(now)
    Lease.objects.all().delete()  # an hour later
    worker._begin_tasks(first + SLICE_SECONDS + 1)
    assert len(begun) == times


@pytest.mark.parametrize("name", ["sweep", "downloads", "predictions", "tidy", "scrub"])
def test_a_second_scheduler_does_nothing_again(name, monkeypatch, begun, db):
    done = []
    for module, function in (
        (services, "sweep"),
        (services, "tidy"),
        (usage, "refresh_lists"),
        (predictions, "keep_up"),
    ):
        monkeypatch.setattr(module, function, lambda: done.append(1))
    for _ in range(3):
        current_app.tasks[SCHEDULE[name]["task"]]()
    assert len(done) + len(begun) == 1
