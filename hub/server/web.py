"""How gunicorn serves the hub, wherever it is started: `gunicorn --config python:hub.server.web`.

Workers, threads and the address are options of the command. All workers of one gunicorn count their
requests in one folder, in memory, so that each of them answers ``/metrics`` for all.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from hub.server.environment import env

wsgi_app = "hub.server.wsgi:application"
worker_class = "hub.server.front.worker.FrontWorker"
# Cut to half of the files that a process may have open.
worker_connections = 20_000
# The kernel cuts it to net.core.somaxconn.
backlog = 4096
timeout = 120
# After the drain, requests that began are finished. The settings are for the workers to load.
graceful_timeout = 30 + int(env.number("HUB_DRAIN_SECONDS", default=0.0))
keepalive = 15
# A query in an address may be long.
limit_request_line = 8190
# Headers that would change the path of a request: clients send them, and proxies pass them on.
forwarder_headers = ""
loglevel = "warning"
control_socket_disable = True
# gunicorn's heartbeat file must not wait for a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir()  # noqa: S108 - its own place


def _counts() -> TextIO:
    """Make the folder in which workers count, and remove those of servers that were killed.

    Returns its lock, which this process and its workers hold as long as they live.
    """
    for old in Path(worker_tmp_dir).glob("hub-metrics-*"):
        with suppress(OSError), (old / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(old)
    # It gets the name that others look for once it is locked.
    new = Path(tempfile.mkdtemp(prefix="hub-new-metrics-", dir=worker_tmp_dir))
    held = (new / "lock").open("w", encoding="utf-8")
    fcntl.flock(held, fcntl.LOCK_EX)
    folder = new.rename(new.with_name(new.name.replace("-new", "")))
    # Read when the library is imported, by the workers.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    return held


# The process that made the folder, and removes it; `hub serve` forks after it has.
_maker = 0
if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    _lock, _maker = _counts(), os.getpid()


def remove_counts() -> None:
    """Remove the folder if this process made it."""
    if _maker == os.getpid():
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


def on_starting(server: Any) -> None:
    """Called by gunicorn before its workers: a process of its own checks, and loads the rooms.

    Where `hub serve` hands over its socket, it has checked already.
    """
    if not all(address.startswith("fd://") for address in server.cfg.bind):
        done = subprocess.run([sys.executable, "-m", "hub.server.start"], check=False)
        if done.returncode:
            sys.exit(done.returncode)


def child_exit(_server: Any, worker: Any) -> None:
    """Called by gunicorn when a worker has ended: its counts stay."""
    from prometheus_client import multiprocess  # noqa: PLC0415 - after the folder is named

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Any) -> None:
    """Called by gunicorn when it ends."""
    remove_counts()
