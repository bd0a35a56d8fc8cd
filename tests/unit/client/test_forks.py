"""Worker processes: forked while threads are busy, spawned with a pickled hub, and of servers."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from hub.client import download_locks, forks
from hub.client.hub import Hub
from hub.protocol import problems
from tests.faults.conftest import own_environment, wait_for
from tests.unit.client.conftest import make_model

PROGRAMS = Path(__file__).with_name("worker_programs.py")
ROOT = Path(__file__).parents[3]
SECONDS = 120
# Python warns of forks with threads, which is what these tests do.
PYTHON = [sys.executable, "-W", "ignore"]


@pytest.fixture
def worker_environment(fake, tmp_path):
    fake.add("zoo/ones", make_model())
    return own_environment() | {
        "HUB_URL": fake.url,
        "HUB_TOKEN": "hf_secret",
        "HUB_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{PROGRAMS.parent}",
        "BROKER_FOLDER": str(tmp_path),
    }


def program(environment, *words):
    done = subprocess.run(
        [*PYTHON, PROGRAMS, *words],
        env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_children_of_a_busy_process_load(worker_environment):
    assert program(worker_environment, "busy", "fork") == "20 of 20"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_a_data_loader_load(worker_environment, method):
    assert program(worker_environment, "loaders", method) == "[0, 1, 2, 3] [0, 0]"


@contextlib.contextmanager
def running(words, environment, log):
    with log.open("wb") as output:
        process = subprocess.Popen(words, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def test_workers_of_gunicorn_load_after_their_master_did(worker_environment, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [*PYTHON, "-m", "gunicorn", "--preload", "--workers", "2", "--timeout", "60",
             "--no-control-socket", "--bind", address, "worker_programs:preloaded()"]  # fmt: skip
    log = tmp_path / "log"

    def answer():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}") as response:
            return response.read().split()
        return None

    with running(words, worker_environment, log) as master:
        assert wait_for(answer, log.read_text(), 60)
        workers = {answer()[0] for _ in range(20)}
    assert str(master.pid).encode() not in workers


def test_workers_of_celery_load_after_their_parent_did(worker_environment, tmp_path, monkeypatch):
    (tmp_path / "messages").mkdir()
    (tmp_path / "results").mkdir()
    words = [*PYTHON, "-m", "celery", "-A", "worker_programs:worker", "worker",
             "--pool", "prefork", "--concurrency", "2", "--without-gossip", "--without-mingle",
             "--without-heartbeat"]  # fmt: skip
    calls = (
        "import worker_programs, os; app = worker_programs.celery_application()\n"
        "tasks = [app.send_task('load') for _ in range(8)]\n"
        f"print(len([task.get(timeout={SECONDS} - 10) for task in tasks]))\n"
        "os._exit(0)"
    )
    with running(words, worker_environment, tmp_path / "log"):
        done = subprocess.run(
            [*PYTHON, "-u", "-c", calls],
            env=worker_environment, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert done.stdout == "8\n", done.stderr + (tmp_path / "log").read_text()


def test_a_lock_that_another_thread_holds_is_free_in_a_child(fork_result):
    lock = forks.Lock()
    held, end = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def take():
        with lock:
            return "free"

    assert fork_result(take) == "free"
    end.set()
    thread.join()


def test_a_child_has_no_share_in_the_lock_of_a_download(cache):
    digest = "a" * 64
    read_end, write_end = os.pipe()
    begun, begin = os.pipe()
    with download_locks.alone(cache, digest, 3) as present:
        assert present is None
        # A child that outlives the download.
        process = os.fork()
        if not process:
            os.close(write_end)
            os.write(begin, b".")
            os.read(read_end, 1)
            os._exit(0)
        os.read(begun, 1)
        path = cache.partial / f"{digest}.lock"
        keep = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(keep, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(write_end)
        os.waitpid(process, 0)
        os.close(keep)
        for end in (read_end, begun, begin):
            os.close(end)


@pytest.fixture
def fork_result():
    """Call a function in a forked child; returns its text, or fails after half a minute."""

    def call(function):
        read_end, write_end = os.pipe()
        process = os.fork()
        if not process:
            os.write(write_end, function().encode())
            os._exit(0)
        os.close(write_end)
        until = time.monotonic() + 30
        while not os.waitpid(process, os.WNOHANG)[0]:
            if time.monotonic() > until:
                os.kill(process, 9)
                os.waitpid(process, 0)
                pytest.fail("the child hangs")
            time.sleep(0.01)
        with os.fdopen(read_end) as reader:
            return reader.read()

    return call


def test_a_pickle_has_the_settings_and_no_token(fake, other, tmp_path, monkeypatch):
    made = Hub(f"{fake.url},{other.url}", token="hf_secret", cache=tmp_path, retry_seconds=3)
    content = pickle.dumps(made)
    assert b"hf_secret" not in content
    with pytest.raises(problems.NotAuthenticated, match="Set HUB_URL and HUB_TOKEN"):
        pickle.loads(content)  # noqa: S301  (made here)
    monkeypatch.setenv("HUB_URL", fake.url)
    monkeypatch.setenv("HUB_TOKEN", "hf_of_the_worker")
    again = pickle.loads(content)  # noqa: S301  (made here)
    assert (again.config.url, [mirror.url for mirror in again.config.mirrors]) == (
        fake.url, [other.url],
    )  # fmt: skip
    assert (again.config.cache, again.config.retry_seconds) == (tmp_path, 3)
    assert again.config.token == "hf_of_the_worker"


def test_what_was_not_passed_is_that_of_the_process_that_loads(fake, tmp_path, monkeypatch):
    content = pickle.dumps(Hub(fake.url))
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "of-the-worker"))
    again = pickle.loads(content)  # noqa: S301  (made here)
    assert again.config.cache == tmp_path / "of-the-worker"
