"""Flower, in an environment of its own, with a hub on Redis and a Celery worker."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import urllib.request

import pytest

from tests import samples
from tests.faults.conftest import wait_for
from tests.integration import environments
from tests.integration.conftest import Production
from tests.integration.test_backups import push

# As docs/operate.md says.
SETTINGS = """
broker_url = {url!r}
broker_transport_options = {{"global_keyprefix": "hub:celery:"}}
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory, redis):
    hub = Production(
        tmp_path_factory.mktemp("flower") / "home", options=["--no-worker"], REDIS_URL=redis.url
    )
    hub.workers, hub.logs, hub.options_of = {}, {}, {}
    hub.start_worker("one")
    hub.wait_for_worker("one")
    yield hub
    hub.stop()


@pytest.fixture
def flower(redis, tmp_path):
    """A function that asks Flower's API."""
    python = environments.python_with("flower", "flower", "celery[redis]", "packaging")
    (tmp_path / "flower_settings.py").write_text(SETTINGS.format(url=redis.url))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "celery", "--config", "flower_settings", "flower"]
    environment = {"PATH": os.environ["PATH"], "FLOWER_UNAUTHENTICATED_API": "true"}

    def ask(path):
        address = f"http://127.0.0.1:{port}/api/{path}"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--port={port}", "--address=127.0.0.1"],
            cwd=tmp_path, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    yield ask
    process.terminate()
    process.wait(20)


def test_flower_lists_workers_and_tasks(hub, flower, tmp_path):
    workers = wait_for(lambda: flower("workers?refresh=1"), "Flower to find the worker", 60)
    (worker,) = workers.values()
    assert {queue["name"] for queue in worker["active_queues"]} == {"cpu.urgent", "cpu", "light"}
    names = (f"net-{number}" for number in itertools.count())

    def jobs():
        # Workers send events from Flower's first request on, within five seconds of its start.
        push(hub, tmp_path, next(names), samples.unlike_others(samples.mlp()))
        return [
            task
            for task in (flower("tasks") or {}).values()
            if (task["name"], task["state"]) == ("runners.run_job", "SUCCESS")
        ]

    done = wait_for(jobs, "Flower to list the jobs of a push", 60)
    # Messages name jobs by their ids, and nothing of what they are about.
    uuids = {job["uuid"] for job in hub.call("GET", "jobs?limit=100")[2]["items"]}
    assert {task["args"] for task in done} <= {f"['{uuid}']" for uuid in uuids}
