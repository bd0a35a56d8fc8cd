"""A hub of three web and three worker machines under load, of which one of each is killed at times.

The machines are homes of their own on this computer that share PostgreSQL (an empty database made
on the server of `TEST_DATABASE_URL`), a Redis of their own, and a bucket of a Ceph cluster that is
started for it. At the end everything that was acknowledged is read again, and jobs, graphs and
files are compared. It exits with status 1 if anything is lost or done twice.

    TEST_DATABASE_URL=postgres://postgres@127.0.0.1:5432 python benchmarks/scale_out.py --minutes 10
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from tests import ceph  # noqa: E402
from tests.integration.conftest import Redis, bucket_of, execute  # noqa: E402
from tests.load import Load  # noqa: E402
from tests.machines import Machines  # noqa: E402

CLIENTS = {"push": 1, "resume": 1, "lfs": 1, "download": 1, "page": 1, "list": 1, "sparql": 1}
DOWN_SECONDS = 5.0


def disturb(machines: Machines, seconds: float, pause: float, seed: int = 1) -> int:
    """Kill one web and one worker machine at a time, and start them again; returns how often."""
    chance = random.Random(seed)  # noqa: S311 - a choice of machines
    until = time.monotonic() + seconds
    count = 0
    while time.monotonic() + pause < until:
        time.sleep(pause)
        victims = [chance.choice(machines.web), chance.choice(machines.workers)]
        for victim in victims:
            victim.kill()
        time.sleep(DOWN_SECONDS)
        for victim in victims:
            victim.start()
        count += 1
    time.sleep(max(0.0, until - time.monotonic()))
    return count


def main() -> int:
    """Run the load, print the times, and report what is wrong at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, default=40.0, help="seconds between two kills")
    args = parser.parse_args()
    server = os.environ["TEST_DATABASE_URL"]
    name = f"hub_scale_{uuid.uuid4().hex[:8]}"
    execute(server, f"CREATE DATABASE {name}")
    folder = Path(tempfile.mkdtemp(prefix="hub-scale-"))
    cluster, redis = ceph.Ceph(folder / "ceph"), Redis()
    machines = None
    try:
        os.environ.update(cluster.environment)
        cluster.start()
        bucket_of("")._client.create_bucket(Bucket=ceph.BUCKET)  # noqa: SLF001
        machines = Machines(
            folder, DATABASE_URL=f"{server.rstrip('/')}/{name}", REDIS_URL=redis.url,
            HUB_STORAGE_URL=f"s3://{ceph.BUCKET}/scale", **cluster.environment,
        ).start()  # fmt: skip
        (folder / "cache").mkdir()
        load = Load(machines.address, machines.token, folder / "cache")
        load.start(**CLIENTS)
        kills = disturb(machines, 60 * args.minutes, args.pause)
        load.stop()
        print(
            f"{args.minutes:g} minutes, {kills} times a web and a worker machine killed;", end=" "
        )
        print(f"load average {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores")
        print("\n".join(load.lines()), flush=True)
        faults = [*load.failures, *load.lost(), *machines.faults()]
        print(f"{len(load.files)} files and {len(load.published)} published versions acknowledged")
        print(f"jobs and attempts: {machines.counts()}")
        print("\n".join(faults) or "nothing lost, nothing done twice")
        return int(bool(faults))
    finally:
        if machines:
            machines.stop()
        redis.kill()
        cluster.stop()
        execute(server, f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    raise SystemExit(main())
