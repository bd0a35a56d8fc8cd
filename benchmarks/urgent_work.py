"""From the push of a version to the end of its check, beside benchmarks that others requested.

Prints the times for `hub serve` and, where `TEST_DATABASE_URL` names a PostgreSQL server, for one
web process and one Celery worker. Before, a benchmark on the hub at rest says how many of its
processes count.

    TEST_DATABASE_URL=postgres://postgres@127.0.0.1:5432 python benchmarks/urgent_work.py
    python benchmarks/urgent_work.py --pushes 3 --every 5 --benchmarks 4
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from tests import samples  # noqa: E402
from tests.faults.conftest import ROOT as SOURCE  # noqa: E402
from tests.faults.conftest import Hub, wait_for  # noqa: E402
from tests.integration.conftest import Redis, execute  # noqa: E402
from tests.slow_clients import p95  # noqa: E402

# Neurons of the hidden layer: the model has 1 MB.
HIDDEN = 32_768
CHECK_SECONDS = 600.0
SETTINGS = {"HUB_LIMITS_LEASE_SECONDS": "30", "HUB_LIMITS_STAGE_SECONDS": "20"}


def push(hub: Hub, name: str) -> float:
    """Push a model; returns the seconds until it is checked."""
    path = hub.draft(name, samples.unlike_others(samples.mlp(hidden=HIDDEN)))
    began = time.monotonic()
    hub.call("POST", f"{path}/submit", {"publish": True})
    while hub.state(path) != "published":
        if time.monotonic() - began > CHECK_SECONDS:
            return float("inf")
        time.sleep(0.1)
    return time.monotonic() - began


def request(hub: Hub, name: str, **options: object) -> str:
    """Request a benchmark; returns the id of its job."""
    address = f"models/zoo/{name}/versions/1/benchmarks/runs"
    status, _, jobs = hub.call("POST", address, options)
    if status >= 400:
        raise RuntimeError(f"{address}: {status} {jobs}")
    return str((jobs if isinstance(jobs, list) else jobs["items"])[0]["uuid"])


def settle(hub: Hub) -> None:
    """Wait for the evidence of what was published."""
    live = "from runners.models import Job; print(Job.objects.filter(state__in=Job.LIVE).count())"
    wait_for(lambda: hub.run_inside(live) == "0", "the hub to be at rest", CHECK_SECONDS)


def alone(hub: Hub, name: str) -> None:
    """Print what became of one benchmark on the hub at rest."""
    job = request(hub, name, effort="light")
    wait_for(lambda: hub.job(job)["state"] not in {"queued", "running"}, job, CHECK_SECONDS)
    code = (
        "from runners.models import Measurement\n"
        f"for row in Measurement.objects.filter(job={job!r}):\n"
        "    counts, lost = row.record['accounting'], row.record['quiet']['urgent_work']\n"
        "    print(counts['kept'], 'of', counts['attempted'], 'count,', lost, row.reasons)"
    )
    settle(hub)
    wait_for(lambda: hub.run_inside(code), "the result of the benchmark", CHECK_SECONDS)
    print(f"  at rest: {hub.run_inside(code)}")


def measure(name: str, hub: Hub, args: argparse.Namespace) -> bool:
    """Print the times of the pushes beside the benchmarks; whether the goal is met."""
    print(f"{name}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    push(hub, "measured")
    settle(hub)
    alone(hub, "measured")
    for batch in range(1, args.benchmarks + 1):
        request(hub, "measured", batch=batch)
    time.sleep(args.every)
    times = []
    for number in range(args.pushes):
        began = time.monotonic()
        times.append(push(hub, f"pushed-{number}"))
        time.sleep(max(0.0, args.every - (time.monotonic() - began)))
    words = " ".join(f"{seconds:.1f}" for seconds in times)
    print(f"  pushed -> checked: p95 {p95(times):.1f} s, of {words}", flush=True)
    code = (
        "from collections import Counter; from runners.models import Attempt, Measurement\n"
        "rows = Attempt.objects.filter(job__kind='benchmark')\n"
        "print('attempts', dict(Counter(rows.values_list('outcome', flat=True))))\n"
        "for row in Measurement.objects.order_by('pk')[1:]:\n"
        "    print('   ', row.status, row.record['quiet']['urgent_work'], row.reasons)"
    )
    print(f"  benchmarks: {hub.run_inside(code)}", flush=True)
    return p95(times) <= args.goal


def celery(folder: Path, stack: ExitStack) -> Hub:
    """One web process and one Celery worker, which does all kinds of work, one at a time."""
    server, name = os.environ["TEST_DATABASE_URL"], f"hub_urgent_{uuid.uuid4().hex[:8]}"
    execute(server, f"CREATE DATABASE {name}")
    stack.callback(execute, server, f"DROP DATABASE {name} WITH (FORCE)")
    redis = Redis()
    stack.callback(redis.kill)
    places = {"DATABASE_URL": f"{server.rstrip('/')}/{name}", "REDIS_URL": redis.url}
    hub = Hub(folder / "home", options=["--no-worker"], **places, **SETTINGS)
    stack.callback(hub.stop)
    pools = ["--pool", "cpu", "--pool", "light", "--pool", "bench-cpu"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "hub", "worker", *pools, "--beat", "--home", str(hub.home)],
        cwd=SOURCE,
        env=hub.environment,
        stdout=subprocess.DEVNULL,
    )
    stack.callback(worker.wait, 60)
    stack.callback(worker.terminate)
    return hub


def main() -> int:
    """Measure both kinds of hub; status 1 if one misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pushes", type=int, default=20)
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two pushes")
    parser.add_argument("--benchmarks", type=int, default=50, help="requested before the pushes")
    parser.add_argument("--goal", type=float, default=10.0, help="p95 in seconds")
    args = parser.parse_args()
    is_met = True
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        hub = Hub(Path(place) / "home", **SETTINGS)
        stack.callback(hub.stop)
        is_met &= measure("hub serve", hub, args)
    if "TEST_DATABASE_URL" in os.environ:
        with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
            hub = celery(Path(place), stack)
            is_met &= measure("one web process and one Celery worker", hub, args)
    return int(not is_met)


if __name__ == "__main__":
    raise SystemExit(main())
