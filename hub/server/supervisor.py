"""The processes of `hub serve`: kept running until it stops, and a greeting once the hub works.

A process that ends is started again. All are forked from this one, which loads what they have in
common and neither opens a connection nor starts a thread (decision 112).
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from functools import partial
from types import FrameType
from urllib.request import urlopen

from django.conf import settings
from django.db import DatabaseError, connections

from hub.server.console import print_line
from hub.server.processes import Process, Work
from runners import pools

STOP_SECONDS = 15.0
RESTART_SECONDS = 1.0
READY_SECONDS = 180.0
SAMPLES_SECONDS = 60.0
LOOK_SECONDS = 0.2
ENGINE_IDLE_SECONDS = 60.0
_URGENT = (pools.URGENT,)


class Supervisor:
    """Keeps the web process, the graphs process and the workers running."""

    def __init__(self, listener: socket.socket, *, threads: int, workers: int) -> None:
        self._listener = listener
        self._stopping = False
        self.pools = _pools(workers)
        self._work: dict[str, Work] = {
            "web": partial(_serve, listener.fileno(), threads),
            "graphs": self._beside_web(_keep_graphs),
            **{name: self._beside_web(partial(_do_jobs, of)) for name, of in self.pools.items()},
        }
        self._processes: dict[str, Process] = {}

    def run(self, *, samples: bool, starter: bool = False) -> int:
        """Start the processes, greet once the hub works, and stay until a signal comes.

        With `samples` the samples that are being checked are waited for; with `starter` further
        models are requested then.
        """
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        print_line("Starting the web process.")
        for name in self._work:
            self._start(name)
        if not self._wait_until_ready():
            self._end()
            print("hub: the web process did not start; see its messages above.", file=sys.stderr)
            return 1
        if not self._stopping:
            greet = partial(_greet, samples=samples, starter=starter, workers=bool(self.pools))
            self._processes["greet"] = Process("greet", self._beside_web(greet))
        while not self._stopping:
            self._restart_ended()
            time.sleep(LOOK_SECONDS)
        self._end()
        return 0

    def _beside_web(self, work: Work) -> Work:
        """Work of a process that leaves the address to the web process."""

        def run() -> int:
            self._listener.close()
            return work()

        return run

    def _restart_ended(self) -> None:
        for name, process in self._processes.items():
            status = process.status()
            if status is not None and name in self._work and not self._stopping:
                print_line(f"hub: {name} exited with status {status}; restarting it")
                time.sleep(RESTART_SECONDS)
                self._start(name)

    def _start(self, name: str) -> None:
        self._processes[name] = Process(name, self._work[name])

    def _wait_until_ready(self) -> bool:
        host, port = self._listener.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - a comparison
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until and not self._stopping:
            if self._processes["web"].status() is not None:
                return False
            try:
                with urlopen(f"{address}/healthz", timeout=2):  # noqa: S310 - our own address
                    return True
            except OSError:
                time.sleep(0.1)
        return self._stopping

    def _end(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        until = time.monotonic() + STOP_SECONDS + settings.HUB_DRAIN_SECONDS
        for process in self._processes.values():
            if process.wait(max(0.1, until - time.monotonic())) is None:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True


def _pools(workers: int) -> dict[str, Sequence[str]]:
    """The workers by name, with the pools that each takes jobs from."""
    if not workers:
        return {}
    # One of them measures; while it does, the others leave the machine to it.
    others = {f"worker {number}": ("cpu", "light") for number in range(2, workers + 1)}
    return {"worker": pools.EMBEDDED, "urgent worker": _URGENT, **others}


def _serve(descriptor: int, threads: int) -> int:
    """Be gunicorn; it ends this process."""
    from gunicorn.app import wsgiapp  # noqa: PLC0415 - needs the server extra

    sys.argv = [
        "gunicorn",
        "--config",
        "python:hub.server.web",
        "--workers",
        "1",
        "--threads",
        str(threads),
        "--bind",
        f"fd://{descriptor}",
    ]
    wsgiapp.run()
    return 0


def _keep_graphs() -> int:
    from hub.server.graphs import Maintenance  # noqa: PLC0415 - needs the server extra

    return Maintenance().run()


def _do_jobs(of: Sequence[str]) -> int:
    from runners.workers.worker import Worker  # noqa: PLC0415 - after Django is set up

    # The engine for urgent work stays warm for all.
    Worker(of, idle_seconds=None if of == _URGENT else ENGINE_IDLE_SECONDS).run()
    return 0


def _greet(*, samples: bool, starter: bool, workers: bool) -> int:
    """Print the address, with `samples` once they are checked; request the `starter` models."""
    from hub.server import first_run  # noqa: PLC0415 - after Django is set up

    address = os.environ["HUB_PUBLIC_URL"]
    notes = wait_for_samples(workers=workers) if samples else []
    if starter:
        notes += first_run.request_models()
    print_line(f"address: {address}")
    for note in notes:
        print_line(note)
    print_line("Press Ctrl-C to stop the hub.")
    return 0


def wait_for_samples(*, workers: bool) -> list[str]:
    """Wait some time until the samples are checked; return notes on them.

    They take seconds, and until they are published a first `hub.load("resnet50")` would fail.
    """
    from hub.server import first_run  # noqa: PLC0415 - after Django is set up

    address = os.environ["HUB_PUBLIC_URL"]
    first = pending = first_run.unchecked()
    if pending and not workers:
        return [f"{_samples(pending)} waiting for a worker; see {address}/jobs"]
    until = time.monotonic() + SAMPLES_SECONDS
    last = ""
    while pending and time.monotonic() < until:
        line = f"Checking {pending[0]} ({len(first) - len(pending) + 1} of {len(first)})."
        if line != last:
            print_line(line)
            last = line
        time.sleep(LOOK_SECONDS)
        try:
            pending = first_run.unchecked()
        except DatabaseError:  # it is away for a moment
            connections.close_all()
    notes = [
        f"{name} did not pass its checks; see {address}/models/{name}"
        for name in first_run.refused()
        if name in first
    ]
    if pending:
        notes.append(f"{_samples(pending)} still being checked; see {address}/jobs")
    return notes


def _samples(names: Sequence[str]) -> str:
    return "1 sample is" if len(names) == 1 else f"{len(names)} samples are"
