"""What a version of many small files takes: processor time of the hub and of its clients.

`hub push` of a folder with a model and 2,000 files of 1 kB, until the checks have passed, beside
copying, syncing and hashing the same files; then `snapshot_download` of huggingface_hub beside as
many requests of `/healthz`. Time is processor time of all processes of the hub (and, of a push, of
the client), which a busy machine changes less than the time on a clock. Nobody measures models
meanwhile.

    python benchmarks/small_files.py
    TEST_DATABASE_URL=postgres://postgres@127.0.0.1:5432 python benchmarks/small_files.py
    python benchmarks/small_files.py --commits   # and `upload_folder` of huggingface_hub

Needs pip for huggingface_hub, or HUB_TEST_HUGGINGFACE, the Python of an environment that has it.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from benchmarks.at_rest import SETTINGS, cpu_seconds  # noqa: E402
from benchmarks.urgent_work import settle  # noqa: E402
from tests import samples  # noqa: E402
from tests.faults.conftest import Hub  # noqa: E402
from tests.integration.conftest import execute  # noqa: E402

GOAL_PUSH_SECONDS = 20.0
GOAL_FILE_SECONDS = 0.005
DOWN = "import sys; from huggingface_hub import snapshot_download as get; get(*sys.argv[1:])"
UP = """
import sys
from huggingface_hub import HfApi
api = HfApi()
api.create_repo(sys.argv[1])
api.upload_folder(repo_id=sys.argv[1], folder_path=sys.argv[2])
"""


def make_folder(folder: Path, count: int, size: int) -> Path:
    """A model and files that no compression makes smaller, in ten folders."""
    source = random.Random(count)  # noqa: S311  (contents)
    for number in range(count):
        path = folder / f"part-{number % 10}" / f"{number:05}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.randbytes(size))
    (folder / "model.onnx").write_bytes(samples.mlp())
    return folder


def store(folder: Path, target: Path) -> float:
    """Processor seconds of copying each file, syncing and hashing it: the least that storing is."""
    began = time.process_time()
    target.mkdir()
    for number, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        hashlib.sha256(content).hexdigest()
        with (target / str(number)).open("wb") as writer:
            writer.write(content)
            writer.flush()
            os.fsync(writer.fileno())
    return time.process_time() - began


class Spent:
    """Seconds of a piece of work: by the hub's processes, by the client, and on the clock."""

    def __init__(self, hub: Hub) -> None:
        self._pids = [hub.process.pid, *hub.tree(hub.process.pid)]
        self._began = self._now()

    def _now(self) -> tuple[float, float, float]:
        client = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = client.ru_utime + client.ru_stime
        return cpu_seconds(self._pids), used, time.monotonic()

    def end(self) -> tuple[float, float, float]:
        """Seconds of hub, client and clock since the beginning."""
        return tuple(now - then for now, then in zip(self._now(), self._began, strict=True))  # type: ignore[return-value]


def measure(hub: Hub, work: Callable[[], object]) -> tuple[float, float, float]:
    """Do the work; the seconds of hub, client and clock."""
    spent = Spent(hub)
    work()
    return spent.end()


def run(command: list[str], hub: Hub, **environment: str) -> None:
    """A client of the hub, in a process of its own."""
    settings = {"HUB_URL": hub.address, "HUB_TOKEN": hub.token, "PYTHONPATH": str(ROOT)}
    settings |= {"HF_ENDPOINT": hub.address, "HF_TOKEN": hub.token}
    settings |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        command,
        check=False,
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{command[:4]} failed:\n{done.stderr[-3000:]}")


def answer_often(hub: Hub, count: int) -> None:
    """As many requests as there are files, of the cheapest address, over one connection."""
    line = http.client.HTTPConnection("127.0.0.1", hub.port)
    for _ in range(count):
        line.request("GET", "/healthz")
        line.getresponse().read()
    line.close()


def huggingface(base: Path) -> str:
    """The Python of an environment with huggingface_hub."""
    if python := os.environ.get("HUB_TEST_HUGGINGFACE"):
        return python
    subprocess.run([sys.executable, "-m", "venv", str(base / "client")], check=True)
    python = str(base / "client" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "huggingface_hub"], check=True)
    return python


@contextmanager
def started(home: Path) -> Iterator[Hub]:
    """A hub as `hub serve` starts it, with the PostgreSQL server of TEST_DATABASE_URL if any."""
    settings, server = dict(SETTINGS), os.environ.get("TEST_DATABASE_URL")
    name = f"hub_small_{uuid.uuid4().hex[:8]}"
    if server:
        execute(server, f"CREATE DATABASE {name}")
        settings["DATABASE_URL"] = (
            f"{server.rpartition('/')[0] if server.count('/') > 2 else server}/{name}"
        )
    try:
        hub = Hub(home, **settings)
        try:
            yield hub
        finally:
            hub.stop()
    finally:
        if server:
            execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def main() -> int:
    """Measure one hub; status 1 if it takes more than the goal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--bytes", type=int, default=1_000)
    parser.add_argument("--commits", action="store_true", help="also upload by huggingface_hub")
    parser.add_argument("--anyway", action="store_true", help="status 0 whatever it takes")
    args = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        python = huggingface(base)
        folder = make_folder(base / "files", args.files, args.bytes)
        least = store(folder, base / "stored")
        with started(base / "home") as hub:
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "hub",
                "push",
                "admin/pushed",
                str(folder),
            ]
            cache = {"HUB_CACHE": str(base / "cache"), "HF_HOME": str(base / "huggingface")}
            server, client, clock = measure(hub, lambda: run(command, hub, **cache))
            push = server + client
            print(
                f"hub push: hub {server:.1f} s, client {client:.1f} s, together {push:.1f} s of "
                f"processor time ({clock:.1f} s), {push / least:.0f} times copying, syncing and "
                f"hashing ({least:.2f} s)",
                flush=True,
            )
            settle(hub)
            idle, _, _ = measure(hub, lambda: answer_often(hub, args.files))
            fetch = [python, "-c", DOWN, "admin/pushed"]
            server, client, clock = measure(hub, lambda: run(fetch, hub, **cache))
            each = server / (args.files + 1)
            print(
                f"snapshot_download: hub {server:.1f} s, {1000 * each:.1f} ms a file, client "
                f"{client:.1f} s ({clock:.1f} s), {server / idle:.1f} times /healthz",
                flush=True,
            )
            if args.commits:
                send = [python, "-c", UP, "admin/committed", str(folder)]
                server, client, clock = measure(hub, lambda: run(send, hub, **cache))
                print(f"upload_folder: hub {server:.1f} s, client {client:.1f} s ({clock:.1f} s)")
    is_over = push > GOAL_PUSH_SECONDS or each > GOAL_FILE_SECONDS
    return int(is_over and not args.anyway)


if __name__ == "__main__":
    raise SystemExit(main())
