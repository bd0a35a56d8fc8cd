"""What counting, timing and watching statements add to a request, and what a scrape takes.

    python benchmarks/metrics.py [--jobs 100000]

The reference is `/healthz` through the whole of Django's middleware in the same minute. Counts go
to memory-mapped files, as below gunicorn. The database is SQLite in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def microseconds(work: Callable[[], object], count: int) -> float:
    """The median of five rounds of ``count`` calls, for each call."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(count):
            work()
        rounds.append((time.process_time() - start) / count * 1e6)
    return statistics.median(rounds)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100_000, help="rows of jobs (default: 100000)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder, "counts")
        counts.mkdir()
        os.environ |= {
            "HUB_HOME": folder,
            "PROMETHEUS_MULTIPROC_DIR": str(counts),
            "HUB_PUBLIC_URL": "http://testserver",
            "HUB_METRICS_TOKEN": "t",
            "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        }
        import django

        django.setup()
        measure(args.jobs)


def measure(jobs: int) -> None:
    """Measure in a hub without models, with so many ended and a thousand waiting jobs."""
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from hub.server import requests
    from registry.models import Blob
    from runners.models import Job

    call_command("migrate", verbosity=0)
    client = Client()

    def count() -> None:
        requests.ended("GET", "healthz", 200, 0.001, request_id="id", user=None)

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    request = microseconds(lambda: client.get("/healthz"), 500)
    counting = microseconds(count, 5000)
    watched = microseconds(ask, 5000)
    connection.execute_wrappers.clear()
    plain = microseconds(ask, 5000)
    print(f"/healthz {request:.0f} us; counted and timed in {counting:.1f} us of it")
    print(f"a statement {plain:.1f} us, watched {watched:.1f} us")
    rows = (Job(kind="check", key=f"{n:064x}", state="succeeded") for n in range(jobs))
    Job.objects.bulk_create(rows, batch_size=5000)
    rows = (Job(kind="check", key=f"{n:064x}") for n in range(jobs, jobs + 1000))
    Job.objects.bulk_create(rows, batch_size=1000)
    rows = (Blob(sha256=f"{n:064x}", size=1) for n in range(jobs))
    Blob.objects.bulk_create(rows, batch_size=5000)
    for name in ("first scrape", "scrape within 5 s"):
        start = time.perf_counter()
        answer = client.get("/metrics", headers={"Authorization": "Bearer t"})
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds * 1000:.1f} ms, {len(answer.content)} bytes")


if __name__ == "__main__":
    main()
