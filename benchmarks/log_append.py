"""What an append to the transparency log costs a push, by the clock and in processor time.

    python benchmarks/log_append.py [--records 70000] [--runs 200]
    DATABASE_URL=postgres://… python benchmarks/log_append.py

A push waits for the delivery of its event, in one transaction: the leaf, the nodes that are
complete, the signed head, and the delivery that is settled. The reference in the same minute is one
committed INSERT, which the database syncs to the disk. The database is SQLite in a temporary
folder, or the empty PostgreSQL database that `DATABASE_URL` names.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from registry.models import Event, RegisteredModel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

GOAL_MILLISECONDS = 5.0
BATCH = 5000
TABLE = re.compile(r'(?:FROM|INTO|UPDATE) "(\w+)"')


class Statements:
    """Where the time of statements goes: milliseconds by what each does to which table."""

    def __init__(self) -> None:
        self.milliseconds: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, *rest)
        finally:
            table = TABLE.search(sql)
            name = f"{sql.split(maxsplit=1)[0]} {table[1] if table else ''}"
            self.milliseconds[name] += 1000 * (time.perf_counter() - began)
            self.counts[name] += 1


def times(prepare: Callable[[], None], work: Callable[[], object], runs: int) -> list[list[float]]:
    """Milliseconds by the clock and of the processor, of each run."""
    rows = []
    for _ in range(runs):
        prepare()
        clock, used = time.perf_counter(), time.process_time()
        work()
        rows.append([1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - used)])
    return [list(column) for column in zip(*rows, strict=True)]


def main() -> None:
    """Fill a log, and print the medians; the exit status says whether the goal is reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=70_000, help="records before (70000)")
    parser.add_argument("--runs", type=int, default=200, help="appends that are timed (200)")
    parser.add_argument("--anyway", action="store_true", help="succeed whatever the figures are")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HUB_HOME": home, "DJANGO_SETTINGS_MODULE": "hub.server.settings"}
        import django

        django.setup()
        is_reached = measure(args.records, args.runs)
    if not (is_reached or args.anyway):
        sys.exit(1)


def fill(records: int) -> RegisteredModel:
    """Make a log of this number of records of a model."""
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from hub.protocol.transparency.records import Record, RecordKind
    from registry.models import Delivery, Event, Namespace
    from registry.people.services import users
    from registry.provenance import log
    from registry.versions.services import registered_models

    call_command("migrate", verbosity=0)
    owner = users.create(username="owner")
    space = Namespace.objects.get(memberships__user=owner)
    model = registered_models.create(owner, namespace=space, name="net")
    Delivery.objects.all().delete()
    moved = Record(RecordKind.MODEL_MOVED, timezone.now().isoformat(), model.ref, name="owner/old")
    for first in range(0, records, BATCH):
        numbers = range(first, min(first + BATCH, records))
        events = [event_of(model, number) for number in numbers]
        rows = Event.objects.bulk_create(events)
        log.append(log.Entry(moved, model.pk, row.pk) for row in rows)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # which does so by itself after a while
            cursor.execute("ANALYZE")
        cursor.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, content VARCHAR(200))")
    return model


def event_of(model: RegisteredModel, number: int) -> Event:
    """An event that the log records, each of another subject; it is not saved."""
    from registry.models import Event

    return Event(
        verb="model.moved", subject_kind="registeredmodel", subject_id=str(number),
        model=model, data={"old": "owner/old", "new": model.ref},
    )  # fmt: skip


def measure(records: int, runs: int) -> bool:
    """Print what an append costs with this number of records; whether that is within the goal."""
    from django.db import connection, transaction

    from registry.core import outbox
    from registry.models import Delivery
    from registry.provenance.models import CONSUMER, LogHead, LogLeaf

    model = fill(records)
    numbers = count(records)

    def push() -> None:
        with transaction.atomic():
            event = event_of(model, next(numbers))
            event.save()
            Delivery.objects.create(event=event, consumer=CONSUMER)

    def insert() -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO bare VALUES (%s, %s)", [next(numbers), "x" * 200])

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    def deliver() -> None:
        outbox.deliver(background=False)

    times(push, deliver, 5)  # what is made once
    before = LogLeaf.objects.count()
    figures = {
        "SELECT 1": times(lambda: None, ask, runs),
        "committed INSERT": times(lambda: None, insert, runs),
        "nothing due": times(lambda: None, deliver, runs),
        "append": times(push, deliver, runs),
    }
    statements = Statements()
    for _ in range(runs):
        push()
        with connection.execute_wrapper(statements):
            deliver()
    assert not Delivery.objects.exists()
    size = LogHead.objects.order_by("size").values_list("size", flat=True).last()
    assert size == LogLeaf.objects.count() == before + 2 * runs
    version = ".".join(map(str, connection.get_database_version()))
    print(
        f"{os.cpu_count()} processors ({platform.machine()}), load {os.getloadavg()[0]:.1f}, "
        f"{connection.display_name} {version}, {before} records, {runs} runs"
    )
    report(figures, statements, runs)
    return cost(figures) <= GOAL_MILLISECONDS


def cost(figures: dict[str, list[list[float]]]) -> float:
    """What the append adds to a delivery that a push waits for with or without a log."""
    return median(figures["append"][0]) - median(figures["nothing due"][0])


def report(figures: dict[str, list[list[float]]], statements: Statements, runs: int) -> None:
    """Print medians, their ratio, and where the time of statements goes."""
    for name, (clock, used) in figures.items():
        print(
            f"{name:<18}{median(clock):7.2f} ms by the clock (p95 {quantiles(clock, n=20)[-1]:.2f}"
            f"), {median(used):.2f} ms of the processor"
        )
    added = cost(figures)
    ratio = added / median(figures["committed INSERT"][0])
    print(f"the append adds {added:.2f} ms to a push, as long as {ratio:.1f} committed INSERTs")
    for name, total in statements.milliseconds.most_common(12):
        print(f"    {total / runs:6.3f} ms  {statements.counts[name] / runs:4.1f} times  {name}")


if __name__ == "__main__":
    main()
