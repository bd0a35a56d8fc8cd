"""Downloads from a real hub against nginx serving the same bytes from the same disk.

curl fetches to /dev/null from each in turn; the medians of the runs count. Processor seconds and
memory are those of the servers alone, before and after. Small files are fetched as plain files and
as ONNX models, whose downloads are counted, at both addresses that a file has. `--check` also
traces the hub's system calls: every byte must leave through `sendfile`.

    python benchmarks/serving.py                 # 100 MB, 1 GB, 300 files of 100 kB, ranges
    python benchmarks/serving.py --megabytes 100 --check
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = 300
FILE_BYTES = 100_000
# Each is checked before it is published, so there are fewer models than downloads of models.
MODELS = 12
PART = 2**24
NGINX = """
worker_processes 2; daemon off; error_log {home}/error.log; pid {home}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_timeout 65; default_type application/x;
    server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


class Server(NamedTuple):
    """Where files are fetched from, and the processes that serve them."""

    name: str
    address: str
    pids: Callable[[], list[int]]

    def seconds(self) -> float:
        """Processor seconds of all processes so far."""
        ticks = 0
        for pid in self.pids():
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            ticks += int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Resident memory of all processes now."""
        found = [
            re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
            for pid in self.pids()
        ]
        return sum(int(kilobytes[0]) for kilobytes in found if kilobytes) / 1000


def children(pid: int) -> list[int]:
    """The processes below ``pid``."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    return found


def command_line(pid: int) -> bytes:
    """How a process was started; nothing where it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Publisher:
    """Speaks to a hub as the administrator does."""

    def __init__(self, address: str, token: str) -> None:
        self._place = urlsplit(address)
        self._token = token

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[Any, Any]:
        """One request; the answer's headers and JSON."""
        line = http.client.HTTPConnection(str(self._place.hostname), self._place.port, timeout=600)
        sent = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        line.request(method, path, body, sent | (headers or {}))
        answer = line.getresponse()
        content = answer.read()
        line.close()
        assert answer.status < 400, (method, path, content)
        return answer.headers, json.loads(content) if content else None

    def store(self, path: Path) -> str:
        """Upload a file in parts; returns its digest."""
        size = path.stat().st_size
        name = base64.b64encode(path.name.encode()).decode()
        headers, _ = self.call(
            "POST",
            "/api/v1/uploads",
            headers={
                "Tus-Resumable": "1.0.0",
                "Upload-Length": str(size),
                "Upload-Metadata": f"filename {name}",
            },
        )
        place = urlsplit(headers["Location"]).path
        with path.open("rb") as file:
            while part := file.read(PART):
                headers, _ = self.call(
                    "PATCH",
                    place,
                    part,
                    {
                        "Tus-Resumable": "1.0.0",
                        "Upload-Offset": str(file.tell() - len(part)),
                        "Content-Type": "application/offset+octet-stream",
                    },
                )
        return str(headers["Hub-Blob"])

    def publish(self, folder: Path) -> tuple[str, str]:
        """Publish every file of a folder as one version.

        Return the paths of its files: of the API, and of the Hub protocol.
        """
        self.call("POST", "/api/v1/models", {"namespace": "zoo", "name": "served"})
        _, version = self.call("POST", "/api/v1/models/zoo/served/versions", {})
        place = f"/api/v1/models/zoo/served/versions/{version['number']}"
        for path in sorted(folder.iterdir()):
            self.call("PUT", f"{place}/files/{path.name}", {"blob": self.store(path)})
        self.call("POST", f"{place}/submit", {"publish": True})
        until = time.monotonic() + 120
        while (version := self.call("GET", place)[1])["state"] != "published":
            assert time.monotonic() < until, "the version was not published within two minutes"
            time.sleep(0.2)
        until = time.monotonic() + 300
        while any(
            self.call("GET", f"/api/v1/jobs?state={state}")[1]["items"]
            for state in ("queued", "running")
        ):
            assert time.monotonic() < until, "jobs after publishing took more than five minutes"
            time.sleep(0.5)
        return f"{place}/files", f"/zoo/served/resolve/{version['commit_id']}"


def make_files(folder: Path, megabytes: list[int]) -> None:
    """Small models, and random bytes beside them."""
    from tests.samples import mlp

    folder.mkdir()
    for index in range(MODELS):
        (folder / f"small{index}.onnx").write_bytes(mlp(hidden=FILE_BYTES // 32 + index))
    for size in megabytes:
        with (folder / f"{size}.bin").open("wb") as file:
            for _ in range(size):
                file.write(os.urandom(10**6))
    for index in range(FILES):
        (folder / f"small{index}.bin").write_bytes(os.urandom(FILE_BYTES))


@contextlib.contextmanager
def hub(home: Path, folder: Path) -> Iterator[tuple[Server, Server]]:
    """A hub as a user starts it, that has published the folder.

    The same twice: with the address of files in the API, and with that of the Hub protocol.
    """
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HUB_", "DATABASE_", "DJANGO_"))
    } | {
        "PYTHONPATH": str(ROOT),
        "HUB_LIMITS_ANON_RATE": "1000000/min",
        "HUB_BENCH": "off",
    }
    start = [sys.executable, "-m", "hub", "serve", "--port", "0", "--no-samples"]
    command = [*start, "--home", str(home)]
    with running(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("address: "))
        address = address.removeprefix("address: ").strip()
        threading.Thread(target=process.stdout.read, daemon=True).start()
        token = subprocess.run(
            [sys.executable, "-m", "hub", "token", "create", "--user", "admin",
             "--scope", "admin", "--home", str(home)],
            check=True, capture_output=True, text=True, env=environment, cwd=ROOT,
        ).stdout.strip()  # fmt: skip
        files, resolve = Publisher(address, token).publish(folder)

        def web() -> list[int]:
            return [pid for pid in children(process.pid) if b"gunicorn" in command_line(pid)]

        yield Server("hub", f"{address}{files}", web), Server("hub", f"{address}{resolve}", web)


@contextlib.contextmanager
def nginx(home: Path, folder: Path) -> Iterator[Server]:
    """The folder, served by nginx."""
    home.mkdir()
    port = free_port()
    settings = home / "nginx.conf"
    settings.write_text(NGINX.format(home=home, port=port, root=folder))
    folder.chmod(0o755)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with running([program, "-c", str(settings), "-p", str(home)]) as process:
        time.sleep(0.5)
        yield Server("nginx", f"http://127.0.0.1:{port}", lambda: children(process.pid))


def fetch(*addresses: str, options: tuple[str, ...] = ()) -> float:
    """Fetch with one curl, one after the other over one connection; wall seconds."""
    outputs = [word for address in addresses for word in ("-o", "/dev/null", address)]
    start = time.perf_counter()
    subprocess.run(["curl", "-sf", *options, *outputs], check=True)
    return time.perf_counter() - start


def compare(title: str, servers: list[Server], runs: int, names: list[str], size: float) -> None:
    """Fetch in turn from both and print throughput, processor and memory."""
    walls: dict[str, list[float]] = {server.name: [] for server in servers}
    used: dict[str, list[float]] = {server.name: [] for server in servers}
    held = {server.name: server.megabytes() for server in servers}
    for run in range(runs + 1):
        for server in servers if run % 2 else reversed(servers):
            before = server.seconds()
            wall = fetch(*(f"{server.address}/{name}" for name in names))
            time.sleep(0.02)
            if run:  # the first warms both
                walls[server.name].append(wall)
                used[server.name].append(server.seconds() - before)
    ours, theirs = (statistics.median(walls[server.name]) for server in servers)
    work, their_work = (statistics.mean(used[server.name]) for server in servers)
    after = servers[0].megabytes()
    print(
        f"{title:<18}{size / ours / 1e6:>9.0f}{size / theirs / 1e6:>9.0f}{theirs / ours:>8.2f}"
        f"{work:>10.3f}{their_work:>9.3f}{work / max(their_work, 0.001):>8.2f}"
        f"{held['hub']:>9.0f}{after:>7.0f}",
        flush=True,
    )


def trace(server: Server, name: str) -> None:
    """Count how bytes leave the hub, for a whole file and for a range of it."""
    pid = server.pids()[-1]
    for title, options in {"whole": (), "range": ("-r", "1000000-50999999")}.items():
        calls = ["strace", "-f", "-p", str(pid), "-e", "trace=sendfile,sendto,write,read,pread64"]
        with running(calls, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            time.sleep(0.5)
            fetch(f"{server.address}/{name}", options=options)
            process.terminate()
            lines = process.stderr.read().splitlines()
        sent: dict[str, int] = {}
        for line in lines:
            found = re.search(r"(sendfile|sendto|write|read|pread64)\(.*= (\d+)$", line)
            if found:
                sent[found[1]] = sent.get(found[1], 0) + int(found[2])
        print(f"{title}: bytes by system call {sent}")


def slow_readers(server: Server, name: str, how_many: int) -> None:
    """Time small requests while slow clients hold connections."""
    place = urlsplit(server.address)
    lines = []
    for _ in range(how_many):
        line = socket.create_connection((str(place.hostname), place.port or 80))
        line.sendall(f"GET {place.path}/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        line.recv(1000)
        lines.append(line)
    times = [fetch(f"{server.address}/small0.bin", options=("-m", "30")) for _ in range(9)]
    print(f"100 kB beside {how_many} slow clients: {statistics.median(times) * 1000:.0f} ms")
    for line in lines:
        line.close()


def main() -> None:
    """Publish, serve and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, nargs="*", default=[100, 1_000])
    parser.add_argument("--runs", type=int, default=0, help="0: nine, five for a gigabyte")
    parser.add_argument("--check", action="store_true", help="trace system calls as well")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        home = Path(text)
        home.chmod(0o755)
        make_files(home / "files", args.megabytes)
        with (
            nginx(home / "nginx", home / "files") as plain,
            hub(home / "hub", home / "files") as (ours, resolving),
        ):
            if args.check:
                trace(ours, f"{args.megabytes[0]}.bin")
            print(
                f"{'':<18}{'hub MB/s':>9}{'nginx':>9}{'ratio':>8}"
                f"{'hub CPU s':>10}{'nginx':>9}{'ratio':>8}{'MB held':>9}{'after':>7}"
            )
            servers = [ours, plain]
            for size in args.megabytes:
                runs = args.runs or (5 if size >= 1_000 else 9)
                compare(f"{size} MB", servers, runs, [f"{size}.bin"], size * 1e6)
            for ending, how_many in (("bin", FILES), ("onnx", MODELS)):
                names = [f"small{index % how_many}.{ending}" for index in range(FILES)]
                for word, server in (("API", ours), ("resolve", resolving)):
                    title = f"{FILES} .{ending} {word}"
                    sizes = FILES * FILE_BYTES
                    compare(title, [server, plain], args.runs or 5, names, sizes)
            for how_many in (0, 8, 15):
                slow_readers(ours, f"{args.megabytes[0]}.bin", how_many)


if __name__ == "__main__":
    main()
