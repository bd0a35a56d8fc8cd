"""Real PostgreSQL and Redis: a database of its own for each module, dropped afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from urllib.parse import urlsplit

import psycopg2
import pytest

from tests.faults.conftest import ROOT, Hub, wait_for


def _execute(url, statement):
    parts = urlsplit(url)
    connection = psycopg2.connect(
        host=parts.hostname, port=parts.port or 5432, user=parts.username, dbname="postgres"
    )
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def database():
    """The address of a new, empty database."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    name = f"hub_{uuid.uuid4().hex[:12]}"
    _execute(url, f"CREATE DATABASE {name}")
    parts = urlsplit(url)
    yield parts._replace(path=f"/{name}").geturl()
    _execute(url, f"DROP DATABASE {name} WITH (FORCE)")


class Redis:
    """A Redis server of our own, so that it may be killed; it keeps nothing on disk."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL,
        )
        wait_for(self._answers, "redis to start")

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def redis():
    """A Redis server that tests may kill and start again."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed here")
    server = Redis()
    yield server
    server.kill()


class Production(Hub):
    """The hub as it runs in production: PostgreSQL, Redis, and a Celery worker of its own."""

    def start_worker(self):
        self.worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "hub.server.celery", "worker", "--beat",
             "--schedule", str(self.home / "beat"), "--concurrency", "1", "--queues", "cpu,light",
             "--loglevel", "warning", "--without-gossip", "--without-mingle"],
            cwd=ROOT, env=self.environment | {"HUB_HOME": str(self.home)}, start_new_session=True,
        )  # fmt: skip

    def kill_worker(self):
        """`kill -9` the worker; its pool process must go by itself."""
        pool = self.tree(self.worker.pid)
        self.worker.kill()
        self.worker.wait()
        return pool

    def stop(self, how=signal.SIGTERM):
        self.worker.terminate()
        try:
            self.worker.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.worker.pid, signal.SIGKILL)
            self.worker.wait()
        super().stop(how)


@pytest.fixture(scope="module")
def production(tmp_path_factory, database, redis):
    """A hub on real services."""
    hub = Production(
        tmp_path_factory.mktemp("production") / "home",
        options=["--no-worker"],
        DATABASE_URL=database,
        REDIS_URL=redis.url,
    )
    hub.environment["HUB_PUBLIC_URL"] = hub.address
    hub.start_worker()
    yield hub
    hub.stop()
