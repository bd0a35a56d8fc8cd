"""What `hub serve` takes when nothing is asked of it: memory of each process, and processor time.

Starts a hub in an empty folder, pushes a model, waits until its evidence is there, lets the hub
rest and measures. Memory is the proportional share (PSS): what processes share counts once. Nobody
measures models meanwhile (HUB_BENCH is off): on a busy machine that waits for hours.

    python benchmarks/at_rest.py
    python benchmarks/at_rest.py --unused
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from benchmarks.urgent_work import push, settle  # noqa: E402
from tests.faults.conftest import Hub  # noqa: E402

GOAL_BYTES = 350 * 10**6
GOAL_SHARE = 0.01
# As an operator has them; tests shorten both.
SETTINGS = {"HUB_LIMITS_LEASE_SECONDS": "30", "HUB_LIMITS_STAGE_SECONDS": "20"}


def pss(pid: int) -> int:
    """The proportional share of a process's memory in bytes (proc(5), smaps_rollup)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def role(pid: int) -> str:
    """What a process does: the module that it runs, else its own name."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    name = Path(f"/proc/{pid}/comm").read_text().strip()
    if name.startswith("hub ") or "-m" not in words:
        return name
    return words[words.index("-m") + 1]


def cpu_seconds(pids: list[int]) -> float:
    """Processor time of these processes and of their children that ended."""
    ticks = 0
    for pid in pids:
        with suppress(FileNotFoundError):  # it has ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure one hub; status 1 if it takes more than the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rest", type=float, default=90.0, help="seconds before the measurement")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor time")
    parser.add_argument("--goal", type=int, default=GOAL_BYTES, help="bytes of all processes")
    parser.add_argument("--share", type=float, default=GOAL_SHARE, help="of a core, at rest")
    parser.add_argument("--unused", action="store_true", help="push nothing: only start and rest")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        # With a prefix the folder is empty at the start.
        hub = Hub(Path(place) / "home", prefix=["env"], **SETTINGS)
        try:
            started = time.monotonic() - began
            spent = cpu_seconds([hub.process.pid, *hub.tree(hub.process.pid)])
            print(
                f"first start until it answers and a person signed in: {started:.1f} s, "
                f"{spent:.1f} s of processor time"
            )
            if not args.unused:
                print(f"first push until it is checked: {push(hub, 'first'):.1f} s", flush=True)
                settle(hub)
            time.sleep(args.rest)
            pids = [hub.process.pid, *hub.tree(hub.process.pid)]
            before = cpu_seconds(pids)
            time.sleep(args.seconds)
            share = (cpu_seconds(pids) - before) / args.seconds
            total = 0
            for pid in pids:
                with suppress(ProcessLookupError, FileNotFoundError):  # it has ended
                    size = pss(pid)
                    total += size
                    print(f"  {role(pid):20} {size / 10**6:6.1f} MB")
            print(f"together {total / 10**6:.0f} MB; at rest {100 * share:.2f} % of a core")
            if not args.unused:
                print(f"push after the rest until it is checked: {push(hub, 'later'):.1f} s")
        finally:
            hub.stop()
    return int(total > args.goal or share > args.share)


if __name__ == "__main__":
    raise SystemExit(main())
