"""`hub worker`: one more worker for a hub whose database and storage this machine reaches.

It polls the rows, or listens to Redis where REDIS_URL is given. For a runtime whose wheels cannot
share the hub's environment it makes that runtime's own at its first start.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from hub.server import start
from hub.server.console import print_line
from hub.server.serve import make_locale

# Without --pool. A runtime in an environment of its own has jobs in `cpu` alone.
POOLS = ("cpu", "light")


def main(argv: Sequence[str]) -> int:
    """Work until SIGINT or SIGTERM; raises HubError where the worker cannot start."""
    args = _arguments(argv)
    home = Path(args.home or os.environ.get("HUB_HOME", "./var")).resolve()
    home.mkdir(parents=True, exist_ok=True)
    os.environ["HUB_HOME"] = str(home)
    os.environ["HUB_WORKER_RUNTIME"] = args.runtime
    make_locale(home)
    start.set_up()
    start.check()
    from django.conf import settings  # noqa: PLC0415

    import hub.server.celery  # noqa: F401, PLC0415 - hints go to the broker of this application
    from runners import pools  # noqa: PLC0415
    from runners.queue import environments  # noqa: PLC0415

    wrong = [name for name in args.pools if not pools.is_pool(name)]
    if wrong:
        print(
            f"hub: unknown pool {wrong[0]}. Choose cpu, cpu.urgent, bench-cpu, light or gpu-…",
            file=sys.stderr,
        )
        return 2
    environments.prepare(args.runtime, lambda words: print_line(f"hub: {words}"))
    if args.prepare:
        return 0
    names = args.pools or (["cpu"] if args.runtime in pools.BUILDS else POOLS)
    if settings.REDIS_URL:  # where its Celery worker warns
        _listen(pools.queues_of(names, args.runtime), args)
    start.warn()
    return _poll(names, args.runtime)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="hub worker",
        description="Run jobs of a hub until stopped. Use the hub's own settings: HUB_HOME, or "
        "DATABASE_URL and HUB_STORAGE_URL, and REDIS_URL if the hub has it.",
    )
    parser.add_argument(
        "--runtime", default="", help="run only the jobs of this runtime, such as openvino"
    )
    parser.add_argument(
        "--pool",
        action="append",
        dest="pools",
        default=[],
        help="take jobs of this pool: cpu, cpu.urgent, bench-cpu, light or gpu-…; repeatable "
        f"(default: {' and '.join(POOLS)}, so no benchmarks)",
    )
    parser.add_argument(
        "--prepare", action="store_true", help="create the environment of the runtime, then exit"
    )
    parser.add_argument("--home", help="data folder of the hub (default: $HUB_HOME or ./var)")
    parser.add_argument(
        "--concurrency", type=int, default=1, help="concurrent jobs; needs Redis (default: 1)"
    )
    parser.add_argument(
        "--beat", action="store_true", help="also schedule periodic work; needs Redis"
    )
    return parser.parse_args(argv)


def _poll(names: Sequence[str], runtime: str) -> int:
    from runners.workers.worker import Worker  # noqa: PLC0415 - after Django is set up

    worker = Worker(names, runtime=runtime)
    queues = ", ".join(worker.queues)
    print_line(f"hub: starting a worker for {queues}; press Ctrl-C to stop it")
    worker.run()
    return 0


def _listen(queues: Sequence[str], args: argparse.Namespace) -> NoReturn:
    """Become a Celery worker; what must be alone gets one process, what is on a GPU a fresh one."""
    alone = any(queue.startswith(("bench-", "gpu-")) for queue in queues)
    if any(queue.startswith("gpu-") for queue in queues):
        os.environ["HUB_WORKER_START"] = "spawn"
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "hub.server.celery",
        "worker",
        "--queues",
        ",".join(queues),
        "--concurrency",
        "1" if alone else str(args.concurrency),
        "--loglevel",
        "warning",
        # Celery takes workers of one name for one worker, which has then no status.
        "--hostname",
        f"hub-{os.getpid()}@%h",
        "--without-gossip",
        "--without-mingle",
    ]
    if args.beat:
        command.append("--beat")
    print_line(f"hub: starting a worker for {', '.join(queues)}; press Ctrl-C to stop it")
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and words
