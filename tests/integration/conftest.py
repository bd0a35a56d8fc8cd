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

from tests import ceph
from tests.faults.conftest import ROOT, Hub, wait_for


def execute(url, statement):
    """Run one statement on the PostgreSQL server at an address."""
    parts = urlsplit(url)
    connection = psycopg2.connect(
        host=parts.hostname, port=parts.port or 5432, user=parts.username, dbname="postgres"
    )
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


def cut_connections(url):
    """End every connection to a database, as a restart of the server does."""
    name = urlsplit(url).path.removeprefix("/")
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
    execute(url, f"{ended}'{name}'")


@pytest.fixture(scope="module")
def database():
    """The address of a new, empty database."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL names no PostgreSQL server")
    name = f"hub_{uuid.uuid4().hex[:12]}"
    execute(url, f"CREATE DATABASE {name}")
    parts = urlsplit(url)
    yield parts._replace(path=f"/{name}").geturl()
    execute(url, f"DROP DATABASE {name} WITH (FORCE)")


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


def bucket_of(prefix, **options):
    """Objects below a prefix of the cluster's bucket."""
    from registry.storage.s3.bucket import Bucket

    return Bucket(ceph.BUCKET, prefix, **options)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A gateway with a bucket, for the tests of one module."""
    if missing := ceph.missing_programs():
        pytest.skip(f"Ceph is not installed here: {', '.join(missing)}")
    running = ceph.Ceph(tmp_path_factory.mktemp("ceph"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        try:
            running.start()
            bucket_of("")._client.create_bucket(Bucket=ceph.BUCKET)
            yield running
        finally:
            running.stop()


class Production(Hub):
    """The hub as it runs in production: PostgreSQL, Redis, and Celery workers of its own."""

    def start_worker(self, name="one", *options, **environment):
        """Start a worker, or start it again; its words go to a file."""
        self.logs.setdefault(name, self.home / f"worker-{name}.log")
        command = [sys.executable, "-m", "hub", "worker", "--home", str(self.home), *options]
        with self.logs[name].open("a") as log:
            self.workers[name] = subprocess.Popen(
                command, cwd=ROOT, env=self.environment | environment, start_new_session=True,
                stdout=log, stderr=log,
            )  # fmt: skip
        self.options_of[name] = (options, environment)

    def keep_workers(self):
        """Start again those that ended, as whoever runs them in production does."""
        for name, worker in list(self.workers.items()):
            if worker.poll() is not None:
                options, environment = self.options_of[name]
                self.start_worker(name, *options, **environment)
        return True

    def worker_of(self, job):
        """Who has this job: the worker's name here."""
        pid = int(job["worker"].rpartition("-")[2])
        return next(name for name, worker in self.workers.items() if worker.pid == pid)

    def kill_worker(self, name):
        """`kill -9` a worker; its pool processes must go by themselves."""
        worker = self.workers.pop(name)
        pool = self.tree(worker.pid)
        worker.kill()
        worker.wait()
        return pool

    def signal_worker(self, name, number):
        """Send a signal to a worker and its pool, not to the sandbox it started."""
        os.killpg(self.workers[name].pid, number)

    def stop_worker(self, name):
        worker = self.workers.pop(name)
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()

    def wait_for_worker(self, name):
        """Wait until a worker has registered itself."""
        pid = self.workers[name].pid
        return wait_for(
            lambda: next(
                (
                    worker
                    for worker in self.call("GET", "workers")[2]["items"]
                    if worker["name"].endswith(f"-{pid}")
                ),
                None,
            ),
            f"the worker {name} to register: {self.logs[name].read_text()[-2000:]}",
        )

    def stop(self, how=signal.SIGTERM):
        for name in list(self.workers):
            self.stop_worker(name)
        super().stop(how)


@pytest.fixture(scope="module")
def production(tmp_path_factory, database, redis):
    """A hub on real services, with one worker that also starts the periodic work."""
    hub = Production(
        tmp_path_factory.mktemp("production") / "home",
        options=["--no-worker"],
        DATABASE_URL=database,
        REDIS_URL=redis.url,
        HUB_BENCH="light",
    )
    hub.workers, hub.logs, hub.options_of = {}, {}, {}
    hub.environment["HUB_PUBLIC_URL"] = hub.address
    hub.start_worker("one", "--beat")
    hub.wait_for_worker("one")
    yield hub
    hub.stop()
