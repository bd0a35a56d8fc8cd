"""A Celery worker and beat on a real Redis: their lines, and what they answer to Celery's tools."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from hub.server.celery import EVENTS, QUESTIONS
from tests.faults.conftest import ROOT, own_environment, wait_for

CELERY = [sys.executable, "-m", "celery", "-A", "hub.server.celery"]
NAME = "one@test"
WORKER = [
    "worker",
    "--hostname",
    NAME,
    "-Q",
    "cpu",
    "--concurrency",
    "1",
    "--without-gossip",
    "--without-mingle",
]


@pytest.fixture(scope="module")
def environment(redis, tmp_path_factory):
    """The variables of a hub with a database and this Redis."""
    variables = own_environment() | {
        "HUB_HOME": str(tmp_path_factory.mktemp("home")),
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "REDIS_URL": redis.url,
        "HUB_LOG_FORMAT": "json",
        "PYTHONWARNINGS": "ignore",
    }
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--noinput"],
        cwd=ROOT, env=variables, check=True, capture_output=True,
    )  # fmt: skip
    return variables


class Process:
    """A part of Celery, and the lines that it has logged."""

    def __init__(self, arguments, environment, log):
        self._log = log
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                [*CELERY, *arguments, "--loglevel", "info"],
                cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=stderr,
            )  # fmt: skip

    def lines(self):
        return [line for line in self._log.read_text().splitlines() if line]

    def wait_for_line(self, words):
        wait_for(lambda: any(words in line for line in self.lines()), words, 60)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def worker(environment, tmp_path_factory):
    part = Process(WORKER, environment, tmp_path_factory.mktemp("worker") / "log")
    part.wait_for_line("ready.")
    yield part
    part.end()


def ask(environment, *arguments):
    done = subprocess.run(
        # With a name, an answer ends the wait.
        [*CELERY, *arguments[:1], "--timeout", "20", "--destination", NAME, *arguments[1:]],
        cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_a_worker_answers_questions(environment, worker, question):
    code, answer = ask(environment, "inspect", question)
    assert (code, "OK" in answer, "1 node online" in answer) == (0, True, True), answer


@pytest.mark.parametrize("command", sorted(EVENTS))
def test_a_worker_begins_and_ends_to_send_events(environment, worker, command):
    code, answer = ask(environment, "control", command)
    assert (code, "OK" in answer) == (0, True), answer


def test_its_status_is_seen(environment, worker):
    code, answer = ask(environment, "status")
    assert (code, "1 node online" in answer) == (0, True)


@pytest.mark.parametrize(
    "command",
    [
        ("control", "shutdown"),
        ("control", "pool_shrink", "1"),
        ("control", "rate_limit", "runners.run_job", "1/h"),
        ("control", "cancel_consumer", "cpu"),
        ("inspect", "conf"),
    ],
)
def test_a_worker_obeys_no_command(environment, worker, command):
    _, answer = ask(environment, *command)
    assert "ERROR" in answer
    assert worker.process.poll() is None
    assert "cpu" in ask(environment, "inspect", "active_queues")[1]


def test_it_answers_when_redis_has_come_back(environment, worker, redis):
    redis.kill()
    worker.wait_for_line("Connection to broker lost")
    redis.start()
    wait_for(lambda: ask(environment, "inspect", "ping")[0] == 0, "the worker's answer", 60)


def test_every_line_of_a_worker_is_json(environment, worker):
    subprocess.run(
        [*CELERY, "call", "no.such.task", "--queue", "cpu"],
        cwd=ROOT, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    worker.wait_for_line("unregistered task")
    rows = [json.loads(line) for line in worker.lines()]
    names = {row["logger"] for row in rows}
    assert {name.partition(".")[0] for name in names} >= {"celery", "runners"}
    assert all(row["timestamp"] and row["level"] for row in rows)


def test_every_line_of_beat_is_json(environment, tmp_path):
    beat = Process(["beat", "--pidfile="], environment, tmp_path / "log")
    try:
        beat.wait_for_line("beat: Starting")
    finally:
        beat.end()
    rows = [json.loads(line) for line in beat.lines()]
    assert "celery.beat" in {row["logger"] for row in rows}
