"""The same hub on PostgreSQL, Redis and Celery: nothing is lost whichever part dies."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
from datetime import UTC, datetime
from urllib.request import urlopen

import psycopg2
import pytest

from tests import samples
from tests.faults.conftest import ROOT, processes, wait_for
from tests.faults.proxies import caddy
from tests.faults.test_kill import running
from tests.faults.test_races import CLIENTS, at_once, discuss_at_once
from tests.integration.conftest import cut_connections
from tests.slow_clients import crowd, latencies, p95

GATE = ("describe", "check")


def submit(hub, name, content):
    """Submit a model whose jobs no result of another test answers; returns the version's path."""
    path = hub.draft(name, samples.unlike_others(content))
    status, _, body = hub.call("POST", f"{path}/submit", {"publish": True})
    assert status == 200, body
    return path


def gate_of(hub, path):
    """The jobs that stand before publishing, as the API gives them."""
    rows = hub.call("GET", path)[2]["jobs"]
    return [hub.job(row["uuid"]) for row in rows if row["kind"] in GATE]


def outcomes(job):
    return [(attempt["number"], attempt["outcome"]) for attempt in job["attempts"]]


def ends_of(hub, uuids):
    """How many events say that these jobs have ended."""
    return int(
        hub.run_inside(
            "from registry.models import Event\n"
            f"print(Event.objects.filter(verb='job.finished', subject_id__in={uuids!r}).count())"
        )
    )


def recovery(job, since):
    """Seconds from a fault to the second attempt, for those who run with -s."""
    began = datetime.fromisoformat(job["attempts"][1]["started_at"])
    seconds = (began - since).total_seconds()
    print(f"taken over after {seconds:.1f} s; lease 3 s, sweep every 1 s")  # noqa: T201


def checking(hub, path):
    """Wait until the check of a version runs; returns its job."""
    found = running(hub, path)
    wait_for(lambda: (found() or {}).get("kind") == "check", "the check to run", 60)
    return found()


@pytest.fixture
def second(production):
    """A second worker of the same queues, for one test."""
    production.start_worker("two")
    production.wait_for_worker("two")
    yield "two"
    if "two" in production.workers:
        production.stop_worker("two")


def test_a_celery_worker_checks_and_publishes(production):
    path = submit(production, "net", samples.mlp())
    production.wait_until(path, "published", 60)
    jobs = gate_of(production, path)
    assert {(job["kind"], job["state"], job["attempt"]) for job in jobs} == {
        ("describe", "succeeded", 1),
        ("check", "succeeded", 1),
    }
    assert [outcomes(job) for job in jobs] == [[(1, "succeeded")]] * 2
    _, _, ready = production.call("GET", "/readyz")
    assert ready["database"] == {"ok": True, "engine": "postgresql"}
    assert ready["cache"] == {"ok": True}
    assert ready["workers"]["ok"]
    worker = production.wait_for_worker("one")
    assert worker["queues"] == ["cpu", "cpu.urgent", "light"]
    assert worker["providers"] == ["CPUExecutionProvider"]
    assert set(worker["runtimes"]) == {"onnxruntime", "onnx-reference"}


def test_numbers_and_names_are_unique_on_postgresql(production):
    taken = at_once(
        lambda _: production.call("POST", "models", {"namespace": "zoo", "name": "prize"})[0]
    )
    assert sorted(taken) == [201] + [409] * (CLIENTS - 1)
    numbers = at_once(
        lambda _: production.call("POST", "models/zoo/prize/versions", {})[2]["number"]
    )
    assert sorted(numbers) == list(range(1, CLIENTS + 1))


def test_search_on_postgresql(production):
    production.wait_until(submit(production, "finder-net", samples.mlp(hidden=7)), "published", 60)
    found = wait_for(
        lambda: production.call("GET", "models?q=finder")[2]["items"], "the index to follow"
    )
    assert [item["ref"] for item in found] == ["zoo/finder-net"]


def test_a_worker_killed_in_the_middle_of_a_job(production, second):
    path = submit(production, "slow", samples.function_doubling(18))
    check = checking(production, path)
    victim = production.worker_of(check)
    fault = datetime.now(UTC)
    orphans = production.kill_worker(victim)
    wait_for(
        lambda: not {pid for pid, _, _ in processes()} & set(orphans), "its pool to die with it", 10
    )
    wait_for(lambda: production.state(path) in ("published", "draft"), "another attempt", 90)
    job = production.job(check["uuid"])
    assert [number for number, _ in outcomes(job)] == [1, 2]
    assert job["attempts"][0]["outcome"] == "lost"
    assert job["attempts"][0]["worker"] == check["worker"]
    assert job["attempts"][1]["worker"] != check["worker"]
    assert ends_of(production, [job["uuid"]]) == 1
    recovery(job, fault)
    if victim == "one":
        production.start_worker("one", "--beat")
        production.wait_for_worker("one")


def test_a_stalled_worker_that_comes_back_late_changes_nothing(production, second):
    path = submit(production, "stalled", samples.function_doubling(19))
    check = checking(production, path)
    victim = production.worker_of(check)
    began = production.logs[victim].stat().st_size
    fault = datetime.now(UTC)
    production.signal_worker(victim, signal.SIGSTOP)
    wait_for(lambda: production.state(path) in ("published", "draft"), "another attempt", 90)
    ended = production.job(check["uuid"])
    production.signal_worker(victim, signal.SIGCONT)
    wait_for(
        lambda: any(
            word in production.logs[victim].read_text()[began:]
            for word in ("mine=False", "job_stopped")
        ),
        "the late worker to notice",
    )
    assert production.job(check["uuid"]) == ended
    assert outcomes(ended)[0] == (1, "lost")
    assert ended["attempt"] == len(ended["attempts"]) == 2
    assert ended["attempts"][1]["worker"] != check["worker"]
    assert ends_of(production, [ended["uuid"]]) == 1
    recovery(ended, fault)


def test_a_database_that_drops_its_connections_ends_no_work(production, database):
    path = submit(production, "cut-off", samples.function_doubling(18))
    check = checking(production, path)
    cut_connections(database)
    wait_for(lambda: production.state(path) in ("published", "draft"), "the check to end", 60)
    ended = production.job(check["uuid"])
    assert (ended["attempt"], ended["report"]["task"]) == (1, "check")
    assert [number for number, _ in outcomes(ended)] == [1]


def test_a_model_that_kills_its_child_gets_a_verdict(production):
    path = submit(production, "killer", samples.layernorm_killer())
    production.wait_until(path, "draft", 60)
    check = next(job for job in gate_of(production, path) if job["kind"] == "check")
    assert (check["state"], check["error_class"]) == ("failed", "deterministic")
    assert outcomes(check) == [(1, "failed")]
    assert "SIGSEGV" in check["error_detail"]
    assert check["waiting_for"] == ""


def test_what_no_worker_offers_says_so_and_runs_when_one_comes(production):
    path = submit(production, "picky", samples.mlp(hidden=12))
    production.wait_until(path, "published", 60)
    build = production.enqueue(path, kind="describe", requires={"runtime": "openvino"})
    provider = {"provider": "CUDAExecutionProvider"}
    cuda = production.enqueue(path, kind="describe", requires=provider)
    elsewhere = production.enqueue(path, kind="describe", requires={"host": "elsewhere"})
    for uuid, words in (
        (build, "no worker offers openvino"),
        (cuda, "no worker offers CUDA"),
        (elsewhere, "no worker offers the host elsewhere"),
    ):
        job = production.job(uuid)
        assert (job["state"], job["attempt"], job["waiting_for"]) == ("queued", 0, words)
        assert words in production.call("GET", f"/jobs/{uuid}")[2].decode()
    production.start_worker("three", HUB_WORKER_HOST="elsewhere")
    wait_for(lambda: production.job(elsewhere)["state"] == "succeeded", "the other host's job", 60)
    done = production.job(elsewhere)
    assert outcomes(done) == [(1, "succeeded")]
    assert done["host"] == "elsewhere"
    production.stop_worker("three")
    assert {production.job(uuid)["attempt"] for uuid in (build, cuda)} == {0}
    for uuid in (build, cuda):
        assert production.call("POST", f"jobs/{uuid}/cancel")[0] == 200


def test_redis_away_while_somebody_publishes(production, redis):
    redis.kill()
    path = submit(production, "while-away", samples.mlp(hidden=9))
    assert production.state(path) == "submitted"
    for page in ("/", "/models", "/models?opset_max=17", "/login", "/jobs"):
        assert production.call("GET", page)[0] == 200, page
    redis.start()
    wait_for(
        lambda: production.keep_workers() and production.state(path) == "published",
        "the version to be published",
        90,
    )
    assert {job["attempt"] for job in gate_of(production, path)} == {1}


class Cut(socketserver.ThreadingTCPServer):
    """Carries bytes to a Redis server, and cuts the connection of the first acknowledgement."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Cable)
        self.port = port
        self.done = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.server_address[1]}/0"


class _Cable(socketserver.BaseRequestHandler):
    def handle(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as onward:
            threading.Thread(target=self.answer, args=(onward,), daemon=True).start()
            while part := self.request.recv(65536):
                if b"ZREM\r\n" in part and not self.server.done.is_set():
                    self.server.done.set()
                    self.request.shutdown(socket.SHUT_RDWR)
                    return
                onward.sendall(part)

    def answer(self, onward):
        with contextlib.suppress(OSError):
            while part := onward.recv(65536):
                self.request.sendall(part)


def test_a_worker_goes_on_after_a_lost_acknowledgement(production, redis):
    production.stop_worker("one")
    with Cut(redis.port) as cut:
        production.start_worker("cut", "--beat", REDIS_URL=cut.url)
        try:
            production.wait_for_worker("cut")
            wait_for(cut.done.is_set, "the first acknowledgement", 60)
            production.wait_until(submit(production, "cut", samples.conv()), "published", 60)
        finally:
            production.stop_worker("cut")
            cut.shutdown()
    production.start_worker("one", "--beat")
    production.wait_for_worker("one")


def test_redis_killed_with_thirty_jobs_in_flight(production, redis):
    path = production.draft("many", samples.mlp(hidden=14))
    uuids = production.enqueue_many(
        path, [{"kind": "describe", "job_input": {"n": n}} for n in range(30)]
    )
    redis.kill()
    fault = time.monotonic()
    left = {uuid for uuid in uuids if production.job(uuid)["state"] != "succeeded"}
    assert left, "Redis was killed too late to matter"
    redis.start()

    def all_done():
        production.keep_workers()
        left.difference_update(
            [uuid for uuid in left if production.job(uuid)["state"] == "succeeded"]
        )
        return not left

    wait_for(all_done, "thirty jobs to be done", 120)
    print(f"30 of 30 after {time.monotonic() - fault:.1f} s")  # noqa: T201
    assert [outcomes(production.job(uuid)) for uuid in uuids] == [[(1, "succeeded")]] * 30
    assert ends_of(production, uuids) == 30


def test_publishing_does_not_wait_for_who_holds_the_graphs(production, database):
    """A process that froze while it wrote a graph holds up graphs, and nothing else."""
    held = psycopg2.connect(database)
    try:
        with held.cursor() as cursor:
            cursor.execute("SELECT number FROM metadata_revision WHERE id = 1 FOR UPDATE")
            assert cursor.fetchone()
        path = submit(production, "held", samples.conv())
        wait_for(lambda: production.state(path) == "published", "it to be published", 60)
    finally:
        held.close()
    page = path.replace("/versions/", "/v/")
    address = f"{production.address}/{page}.nt"
    wait_for(lambda: urlopen(address).status == 200, "its graph to be there", 60)  # noqa: S310


def test_who_froze_in_a_transaction_loses_its_locks(production):
    """Every claim needs the row of its host, which a process holds that does nothing more."""
    production.wait_until(submit(production, "claimed", samples.mlp(hidden=7)), "published", 60)
    holder = subprocess.Popen(
        production.inside(
            "import time\n"
            "from django.db import transaction\n"
            "from runners.models import Host\n"
            "with transaction.atomic():\n"
            "    print(len(Host.objects.select_for_update()), flush=True)\n"
            "    time.sleep(600)"
        ),
        env=production.inner_environment(), cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert int(holder.stdout.readline()) > 0
        path = submit(production, "frozen", samples.conv())
        wait_for(lambda: production.state(path) == "published", "it to be published", 60)
        assert holder.poll() is None
    finally:
        holder.kill()
        holder.communicate()


def test_publishing_does_not_wait_for_long_jobs_where_a_worker_is_kept_free(production):
    """A worker of the urgent queue alone publishes while the only other slot is taken."""
    production.start_worker("free", "--pool", "cpu.urgent")
    assert production.wait_for_worker("free")["queues"] == ["cpu.urgent"]
    path = production.draft("long", samples.function_doubling(18))
    slow = production.enqueue(path, kind="check", priority=3)
    wait_for(lambda: production.job(slow)["state"] == "running", "the long job to run", 60)
    production.signal_worker("one", signal.SIGSTOP)  # so that it takes as long as this test does
    try:
        quick = submit(production, "quick", samples.conv())
        wait_for(lambda: production.state(quick) == "published", "it to be published", 60)
        takers = {production.worker_of(job) for job in gate_of(production, quick)}
        assert takers == {"free"}
    finally:
        production.signal_worker("one", signal.SIGCONT)
        production.stop_worker("free")


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
def test_pages_stay_quick_beside_slow_clients_of_the_proxy(production, tmp_path):
    content = b"\x08" + os.urandom(2**25 - 1)  # a first byte that is no other format's
    path = f"/api/v1/{production.draft('slow', content)}/files/model.onnx"
    counts = {"bodies": 200, "readers": 200, "idle": 2_000}
    with caddy(production.port, tmp_path) as port, crowd(production, port, path, **counts):
        assert min(p95(latencies(port, host="127.0.0.1")) for _ in range(3)) <= 1


def test_many_open_discussions_and_comment_at_once(production):
    discuss_at_once(production)
