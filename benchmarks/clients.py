"""Load of 10 to 1,000 clients beside one web process: throughput, times, and where it bends.

Each client keeps one connection and sends its next request when it has the last answer: half ask
for a model by the API, a quarter for a list, a quarter for the page of the list. Clients and hub
share the cores, so CPU time per request, that of the hub alone, says more than requests per second.

    python benchmarks/clients.py                                # SQLite
    DATABASE_URL=postgres://… python benchmarks/clients.py      # an empty PostgreSQL database
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from tests.faults.conftest import Hub  # noqa: E402

MODELS = 1_000
LIST = "/api/v1/models?sort=updated"
PATHS = ("/api/v1/models/{}", LIST, "/api/v1/models/{}", "/models")
TICKS = os.sysconf("SC_CLK_TCK")


async def client(
    paths: Iterator[str], port: int, until: float, times: list[float], failures: Counter[str]
) -> None:
    """Send one request after another."""
    reader = writer = None
    while time.perf_counter() < until:
        path = next(paths)
        began = time.perf_counter()
        try:
            if writer is None or reader is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            await asyncio.wait_for(reader.readexactly(length), 60)
            status = head.split(b" ", 2)[1].decode()
            if status == "200":
                times.append(time.perf_counter() - began)
            else:
                failures[status] += 1
            is_over = b"connection: close" in head
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            failures[type(error).__name__] += 1
            is_over = True
        if is_over and writer is not None:
            writer.close()
            reader = writer = None
    if writer is not None:
        writer.close()


def ways(titles: list[str], start: int) -> Iterator[str]:
    """What a client asks for, each from another place on."""
    for turn in itertools.count(start):
        yield PATHS[turn % len(PATHS)].format(titles[turn % len(titles)])


def cpu_seconds(hub: Hub) -> float:
    """Processor time of the processes of the web server so far."""
    ticks = 0
    for pid in [hub.process.pid, *hub.tree(hub.process.pid)]:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def measure(hub: Hub, titles: list[str], count: int, seconds: float) -> str:
    """One line of the table: ``count`` clients for some seconds."""
    times: list[float] = []
    failures: Counter[str] = Counter()

    async def run() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(
            *(
                client(ways(titles, start), hub.port, until, times, failures)
                for start in range(count)
            )
        )

    used, began = cpu_seconds(hub), time.perf_counter()
    asyncio.run(run())
    taken, used = time.perf_counter() - began, cpu_seconds(hub) - used
    p50, *_, p95 = statistics.quantiles(times, n=20)[9:19]
    return (
        f"{count:>8}{len(times) / taken:>12.0f}{1000 * p50:>9.0f}{1000 * p95:>9.0f}"
        f"{1000 * used / len(times):>14.1f}  {dict(failures) or 'none'}"
    )


def main() -> None:
    """Start a hub with some models and measure each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 10, 30, 100, 300, 1000])
    parser.add_argument("--seconds", type=float, default=15.0)
    args = parser.parse_args()
    database = {
        name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL") if name in os.environ
    }
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(
            Path(folder) / "home", options=["--no-worker"], HUB_LIMITS_ANON_RATE="9000000/min",
            **database,
        )  # fmt: skip
        try:
            titles = hub.run_inside(
                "from benchmarks.catalogue import fill\n"
                "from registry.models import SearchDocument\n"
                f"fill({MODELS})\n"
                "print(*SearchDocument.objects.values_list('title', flat=True)[:50])"
            ).split()
            print(f"load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores before")
            print(" clients  requests/s  p50 ms  p95 ms  CPU ms/request  failures")
            measure(hub, titles, 10, 3)
            for count in args.clients:
                print(measure(hub, titles, count, args.seconds), flush=True)
        finally:
            hub.stop()


if __name__ == "__main__":
    main()
