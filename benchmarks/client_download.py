"""Downloading with `hub.download` against curl and huggingface_hub, from one nginx on loopback.

Every client fetches the same file of random bytes into an empty cache. Clients alternate within one
run, so the ratios hold although the seconds drift with whatever else the machine does.

    python benchmarks/client_download.py            # 100 MB five times, 1 GB three times
    python benchmarks/client_download.py --quick    # 100 MB three times

hub.download verifies SHA-256 and syncs to disk before it returns; curl and huggingface_hub do
neither. Wall is the call for Python clients (imports done before) and the process for curl; CPU and
peak memory are those of the whole process. Needs nginx, curl, and pip for huggingface_hub.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = {"100MB": (100_000_000, 5), "1GB": (1_000_000_000, 3)}
ROOT = Path(__file__).resolve().parent.parent
COMMIT = "0123456789abcdef0123456789abcdef01234567"

HUB = """
import os, sys, time
import hub, urllib3, urllib.request, email.utils
from hub.client import download, snapshots, hub as verbs
url, ref, cache = sys.argv[1:]
if ref != "none":
    client = verbs.Hub(url, cache=cache)
    start = time.perf_counter()
    folder = client.download(ref, progress=False)
    print(time.perf_counter() - start)
    assert (folder / "model.onnx").is_file()
"""
HUGGINGFACE = """
import sys, time
from huggingface_hub import hf_hub_download
repo, cache = sys.argv[1:]
if repo != "none":
    start = time.perf_counter()
    hf_hub_download(repo, "model.onnx", cache_dir=cache)
    print(time.perf_counter() - start)
"""
NGINX = """
pid {base}/nginx.pid; error_log {base}/error.log; worker_processes 1; daemon off;
events {{ worker_connections 64; }}
http {{
  access_log off; sendfile on; tcp_nopush on;
  client_body_temp_path {base}/t1; proxy_temp_path {base}/t2; fastcgi_temp_path {base}/t3;
  uwsgi_temp_path {base}/t4; scgi_temp_path {base}/t5;
  server {{
    listen 127.0.0.1:{port};
    default_type application/octet-stream;
    location /files/ {{ alias {base}/files/; }}
    location /api/v1/blobs/ {{ alias {base}/blobs/; }}
    location = /api/v1/resolve {{
      default_type application/json; rewrite ^ /answers/$arg_ref last;
    }}
    location /answers/ {{ default_type application/json; alias {base}/answers/; }}
    location ~ ^/bench/([^/]+)/resolve/[^/]+/model.onnx$ {{
      add_header X-Repo-Commit {commit}; alias {base}/files/$1;
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Measure:
    """One run of one client: seconds of wall and CPU time, and the peak of memory in MiB."""

    wall: float
    cpu: float
    memory: float


def run(command: list[str], environment: dict[str, str] | None = None) -> Measure:
    """Run a command to its end; a number on its standard output replaces the wall time."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise SystemExit(f"{command[0]} failed")
    if output.strip():
        wall = float(output.split()[-1])
    return Measure(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@contextmanager
def nginx(base: Path) -> Iterator[str]:
    """Serve the files of a folder; give the address."""
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (base / "nginx.conf").write_text(NGINX.format(base=base, port=port, commit=COMMIT))
    command = [binary, "-c", str(base / "nginx.conf"), "-p", str(base), "-e", f"{base}/error.log"]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urlopen(f"{url}/files/none").close()
            except OSError as error:
                if getattr(error, "code", None) == 404:
                    break
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()


def prepare(base: Path, name: str, size: int) -> None:
    """Make a file of random bytes and the answer that resolves `bench/<name>` to it."""
    for folder in ("files", "blobs", "answers"):
        (base / folder).mkdir(exist_ok=True)
    digest = hashlib.sha256()
    with (base / "files" / name).open("wb") as writer:
        for start in range(0, size, 1 << 20):
            part = os.urandom(min(1 << 20, size - start))
            digest.update(part)
            writer.write(part)
    sha256 = digest.hexdigest()
    (base / "blobs" / sha256).hardlink_to(base / "files" / name)
    answer = {
        "namespace": "bench",
        "model": name,
        "number": 1,
        "state": "published",
        "manifest_sha256": f"sha256:{sha256}",
        "variant": {"name": "main", "entry": "model.onnx"},
        "files": [
            {
                "path": "model.onnx",
                "size": size,
                "sha256": f"sha256:{sha256}",
                "url": f"/api/v1/blobs/{sha256}",
            }
        ],
        "warning": None,
    }
    # The query arrives as it was sent, with its slash encoded.
    (base / "answers" / f"bench%2F{name}").write_text(json.dumps(answer))


def huggingface(base: Path) -> str | None:
    """Install huggingface_hub in an environment of its own; return its Python, or None."""
    folder = base / "huggingface"
    python = str(folder / "bin" / "python")
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "huggingface_hub"],
            check=True,
            stderr=subprocess.DEVNULL,
            timeout=300,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return python


class Clients:
    """The programs that are compared."""

    def __init__(self, base: Path, url: str, foreign: str | None) -> None:
        self._base = base
        self._url = url
        self._foreign = foreign
        self._target = base / "target"
        self.names = ["hub", "curl", *(["huggingface_hub"] if foreign else [])]

    def fetch(self, name: str, file: str) -> Measure:
        """Let one client fetch a file into an empty folder; `none` only starts it."""
        shutil.rmtree(self._target, ignore_errors=True)
        self._target.mkdir()
        os.sync()
        target = str(self._target)
        if name == "curl":
            return run(["curl", "-s", "-o", f"{target}/file", f"{self._url}/files/{file}"])
        ref = "none" if file == "none" else f"bench/{file}"
        if name == "hub":
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            return run([sys.executable, "-c", HUB, self._url, ref, target], environment)
        assert self._foreign is not None
        environment = {
            **os.environ,
            "HF_ENDPOINT": self._url,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HOME": f"{self._base}/hf-home",
        }
        return run([self._foreign, "-c", HUGGINGFACE, ref, target], environment)


def median(measures: list[Measure]) -> Measure:
    """Return the median of each figure."""
    return Measure(
        statistics.median(m.wall for m in measures),
        statistics.median(m.cpu for m in measures),
        statistics.median(m.memory for m in measures),
    )


def compare(clients: Clients, file: str, rounds: int) -> dict[str, Measure]:
    """Let the clients take turns, in an order that changes; return their medians."""
    found: dict[str, list[Measure]] = {name: [] for name in clients.names}
    for turn in range(rounds + 1):
        shift = turn % len(clients.names)
        for name in clients.names[shift:] + clients.names[:shift]:
            measure = clients.fetch(name, file)
            if turn:  # the first round warms the page cache and does not count
                found[name].append(measure)
    return {name: median(measures) for name, measures in found.items()}


def report(file: str, rounds: int, found: dict[str, Measure], idle: dict[str, Measure]) -> None:
    """Print the table of one size and its ratios."""
    print(f"\n{file}, median of {rounds}:")
    print(f"  {'client':<16} {'wall s':>7} {'CPU s':>7} {'peak MiB':>9} {'over import':>12}")
    for name, measure in found.items():
        over = f"{measure.memory - idle[name].memory:.0f}" if name in idle else "-"
        print(
            f"  {name:<16} {measure.wall:>7.2f} {measure.cpu:>7.2f} "
            f"{measure.memory:>9.0f} {over:>12}"
        )
    print(f"  hub / curl wall: {found['hub'].wall / found['curl'].wall:.2f}  (goal: at most 1.5)")
    if "huggingface_hub" in found:
        ratio = found["huggingface_hub"].wall / found["hub"].wall
        print(f"  huggingface_hub / hub wall: {ratio:.2f}  (goal: at least 2)")
    else:
        print("  huggingface_hub: not measured (it could not be installed)")
    over = found["hub"].memory - idle["hub"].memory
    print(f"  hub memory over import: {over:.0f} MiB  (goal: under 60)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 MB only, three times")
    options = parser.parse_args()
    sizes = {"100MB": (100_000_000, 3)} if options.quick else SIZES
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="hub-bench-", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        base.chmod(0o755)  # nginx serves as another user when it is started by root
        for name, (size, _) in sizes.items():
            prepare(base, name, size)
        foreign = huggingface(base)
        with nginx(base) as url:
            clients = Clients(base, url, foreign)
            idle = {name: clients.fetch(name, "none") for name in clients.names if name != "curl"}
            for name, (_, rounds) in sizes.items():
                report(name, rounds, compare(clients, name, rounds), idle)
    print(f"\nload after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
