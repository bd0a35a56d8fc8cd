"""The state of a hub in one file, without secrets: `hub support`.

No part reads names of models, files, people or tokens. What settings hold as text, such as
passwords, addresses and paths, is replaced wherever it stands.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from hub.protocol.version import __version__
from hub.server import start
from hub.server.console import print_line
from hub.server.environment import env

# The newest jobs of a list.
_JOBS: Final = 200
# Shorter values, such as a host name of two letters, would be replaced inside words.
_SHORTEST: Final = 4
_ABOUT: Final = """\
The state of a hub, made by `hub support`. Read it before you send it.

Left out: names of models, files, people and workers, messages of jobs, logs, rows of tables.
Values of settings that may be any text, such as passwords, addresses and paths, are replaced by
<NAME OF THE SETTING> in every file.
A part that could not be read holds the class of the error.
"""


def main(argv: Sequence[str]) -> int:
    """Write the file and print its path; an existing file is not replaced."""
    args = _arguments(argv)
    start.set_up_to_inspect(args.home)
    path = Path(args.file or f"hub-support-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    # Readable by its owner alone.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in _files():
            z.writestr(name, text)
    print_line(str(path))
    return 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="hub support",
        description="Write versions, settings without secrets, checks, the state of backends, "
        "database, queue and periodic tasks into a zip file. Use the environment of the hub.",
    )
    parser.add_argument("file", nargs="?", help="zip file to write (default: a name with the time)")
    parser.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    return parser.parse_args(argv)


def _files() -> Iterator[tuple[str, str]]:
    secrets = _secrets()
    yield "README.txt", _ABOUT
    for name, part in _PARTS.items():
        text = _read(part)
        for secret, setting in secrets:
            text = text.replace(secret, f"<{setting}>")
        yield name, text


def _read(part: Callable[[], Any]) -> str:
    """A part as JSON; Prometheus' format stays as it is."""
    try:
        content = part()
    except Exception as error:  # noqa: BLE001 - the other parts are needed most where one fails
        content = {"error": type(error).__name__}
    if isinstance(content, str):
        return content
    return json.dumps(content, indent=1, default=str, ensure_ascii=False) + "\n"


def _secrets() -> list[tuple[str, str]]:
    """What is replaced, the longest first, and the name of its setting.

    Besides each value these are the parts of an address by themselves, as libraries print them.
    """
    rows = {}
    for name, value in env.values(private=True).items():
        url = urlsplit(value)
        password = unquote(url.password or "")
        for secret in {value, *value.split(","), url.netloc, url.hostname, url.password, password}:
            if secret and len(secret) >= _SHORTEST:
                rows[secret] = name
    return sorted(rows.items(), key=lambda row: -len(row[0]))


def _versions() -> dict[str, Any]:
    return {
        "hub": __version__,
        "made_at": datetime.now(UTC),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {each.name: each.version for each in distributions()},
    }


def _settings() -> dict[str, str]:
    hidden = dict.fromkeys(env.values(private=True), "set")
    return dict.fromkeys(sorted(env.variables), "") | env.values(private=False) | hidden


def _checks() -> list[dict[str, Any]]:
    from hub.server import backends  # noqa: PLC0415 - models must be loaded first

    messages = backends.report(deploy=True)
    return [{"id": each.id, "level": each.level, "text": start.line(each)} for each in messages]


def _readiness() -> dict[str, Any]:
    from hub.server import health  # noqa: PLC0415

    parts = health.report() | {"blobs": health.blobs()}
    for worker in parts["workers"]["workers"]:
        del worker["name"]
    # Digests of private files are theirs.
    parts["blobs"].pop("digests", None)
    return parts


def _metrics() -> str:
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415

    from hub.server.gauges import HubCollector  # noqa: PLC0415

    registry = CollectorRegistry()
    registry.register(HubCollector())
    return generate_latest(registry).decode()


def _database() -> dict[str, Any]:
    from django.db import connection  # noqa: PLC0415
    from django.db.migrations.executor import MigrationExecutor  # noqa: PLC0415

    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return {
        "engine": connection.vendor,
        "version": connection.get_database_version(),
        "pending_migrations": [f"{each.app_label}.{each.name}" for each, _ in pending],
        "applied_migrations": [".".join(key) for key in executor.loader.applied_migrations],
    }


def _tables() -> dict[str, int]:
    """The rows of each table."""
    from django.db import connection  # noqa: PLC0415

    rows = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            rows[table] = cursor.fetchone()[0]
    return rows


def _rows(*, failed: bool) -> list[Any]:
    """Live jobs, or the newest that failed, without what a worker says of them."""
    from runners.models import Job  # noqa: PLC0415

    jobs = Job.objects.filter(state__in=[Job.State.FAILED] if failed else Job.LIVE)
    fields = ("uuid", "kind", "queue", "state", "priority", "exclusive", "attempt", "error_class")
    times = ("queued_at", "due_at", "started_at", "finished_at", "lease_until")
    return list(jobs.values(*fields, *times)[:_JOBS])


def _periodic_tasks() -> list[Any]:
    from registry.models import PeriodicTask  # noqa: PLC0415

    return list(PeriodicTask.objects.values("name", "succeeded_at", "seconds", "done", "failed_at"))


_PARTS: Final[dict[str, Callable[[], Any]]] = {
    "versions.json": _versions,
    "settings.json": _settings,
    "checks.json": _checks,
    "readiness.json": _readiness,
    "metrics.txt": _metrics,
    "database.json": _database,
    "tables.json": _tables,
    "live-jobs.json": partial(_rows, failed=False),
    "failed-jobs.json": partial(_rows, failed=True),
    "periodic-tasks.json": _periodic_tasks,
}
