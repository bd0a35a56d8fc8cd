"""The newest huggingface_hub against this hub: a gigabyte down and up, one percent changed, misses.

Down: `snapshot_download` from the hub and, with the hub's own answers kept as files, from a bare
nginx. Up: `upload_folder` beside `cp` and `sha256sum` of the same folder, which is what storing and
naming these bytes costs at least. Then one percent of the largest file changes and only what Xet
sends of it is counted; the client remembers what it sent, as it does on a user's own machine. At
the end five files that are not there, as loading a tokenizer asks for.

    python benchmarks/hub_protocol.py                        # a gigabyte, three times each
    python benchmarks/hub_protocol.py --megabytes 100 --runs 1

Needs nginx, and pip for huggingface_hub.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from serving import NGINX, ROOT, free_port, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SMALL = 100
MISSING = (
    "added_tokens.json", "special_tokens_map.json", "chat_template.jinja", "adapter_config.json",
    "preprocessor_config.json",
)  # fmt: skip
ASKS = 40
DOWN = """
import sys, time
from huggingface_hub import snapshot_download
start = time.perf_counter()
snapshot_download(sys.argv[1], cache_dir=sys.argv[2])
print(time.perf_counter() - start)
"""
UP = """
import sys, time
from huggingface_hub import HfApi
api = HfApi()
api.create_repo(sys.argv[1], exist_ok=True, private=len(sys.argv) > 3)
start = time.perf_counter()
api.upload_folder(repo_id=sys.argv[1], folder_path=sys.argv[2])
print(time.perf_counter() - start)
"""


class Place(NamedTuple):
    """A server that clients are pointed at: its address, and who may write there."""

    address: str
    token: str = ""
    home: Path = Path()


class Client:
    """huggingface_hub in an environment of its own."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._python = str(base / "client" / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", str(base / "client")], check=True)
        subprocess.run(
            [self._python, "-m", "pip", "install", "-q", "huggingface_hub"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        told = "import huggingface_hub, hf_xet; print(huggingface_hub.__version__)"
        self.version = self._run(told, [], {}).strip()

    def down(self, place: Place) -> float:
        """Seconds of a whole snapshot into an empty cache."""
        cache = self._base / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        seconds = float(self._run(DOWN, ["zoo/served", str(cache)], self._at(place)))
        shutil.rmtree(cache)
        return seconds

    def up(
        self, place: Place, name: str, folder: Path, *, xet: bool, private: bool = False
    ) -> float:
        """Seconds of a commit of a folder."""
        given = self._at(place) | ({} if xet else {"HF_HUB_DISABLE_XET": "1"})
        words = [f"zoo/{name}", str(folder), *(["private"] if private else [])]
        return float(self._run(UP, words, given).splitlines()[-1])

    def _at(self, place: Place) -> dict[str, str]:
        return {
            "HF_ENDPOINT": place.address,
            "HF_TOKEN": place.token,
            "HF_HOME": str(self._base / "hf-home"),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }

    def _run(self, script: str, words: list[str], given: dict[str, str]) -> str:
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        ended = subprocess.run(
            [self._python, "-c", script, *words],
            env=plain | {key: value for key, value in given.items() if value},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ended.returncode:
            raise SystemExit(ended.stderr[-3000:])
        return ended.stdout


def make_folder(folder: Path, megabytes: int) -> None:
    """A tiny model and random bytes: half in one file, two fifths in four, the rest in 100."""
    from tests.samples import mlp

    folder.mkdir()
    (folder / "model.onnx").write_bytes(mlp())
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Random bytes\n")
    sizes = {"half.bin": megabytes * 500_000}
    sizes |= {f"tenth{index}.bin": megabytes * 100_000 for index in range(4)}
    sizes |= {f"part{index}.bin": megabytes * 100_000 // SMALL for index in range(SMALL)}
    chance = random.Random(1)  # noqa: S311 - nothing is kept secret by it
    for name, size in sizes.items():
        with (folder / name).open("wb") as file:
            for start in range(0, size, 1 << 20):
                file.write(chance.randbytes(min(1 << 20, size - start)))


def change(path: Path) -> None:
    """Overwrite one percent of a file, in one piece, as a new last layer does."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(random.Random(2).randbytes(size // 100))  # noqa: S311 - as above


@contextlib.contextmanager
def hub(home: Path) -> Iterator[Place]:
    """A hub as a user starts it."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HUB_", "DATABASE_", "DJANGO_"))
    } | {"PYTHONPATH": str(ROOT), "HUB_LIMITS_ANON_RATE": "1000000/min"}
    command = [sys.executable, "-m", "hub"]
    start = [*command, "serve", "--port", "0", "--no-samples", "--home", str(home)]
    with running(start, env=environment, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("address: "))
        threading.Thread(target=process.stdout.read, daemon=True).start()
        token = subprocess.run(
            [*command, "token", "create", "--user", "admin", "--scope", "admin",
             "--home", str(home)],
            check=True, capture_output=True, text=True, env=environment, cwd=ROOT,
        ).stdout.strip()  # fmt: skip
        yield Place(address.removeprefix("address: ").strip(), token, home)


def wait_until_published(place: Place, name: str) -> None:
    """Wait for the checks of what was committed."""
    address = f"{place.address}/api/v1/models/zoo/{name}/versions/1"
    until = time.monotonic() + 600
    while time.monotonic() < until:
        # Nobody else sees a model before its first version is published.
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(address):
            return
        time.sleep(0.5)
    raise SystemExit(f"{name} was not published within ten minutes")


@contextlib.contextmanager
def nginx(home: Path, folder: Path, ours: Place) -> Iterator[Place]:
    """The folder behind nginx, at the addresses that the client asks, with the hub's answers."""
    model = home / "api" / "models" / "zoo" / "served"
    for asked in ("revision/main", "tree/main"):
        with urllib.request.urlopen(
            f"{ours.address}/api/models/zoo/served/{asked}?recursive=true"
        ) as answer:
            (model / asked).parent.mkdir(parents=True, exist_ok=True)
            (model / asked).write_bytes(answer.read())
    commit = json.loads((model / "revision" / "main").read_text())["sha"]
    for name in ("revision", "tree"):
        shutil.copy(model / name / "main", model / name / commit)
    port = free_port()
    route = (
        f"location ~ ^/zoo/served/resolve/[^/]+/(.*)$ {{ add_header X-Repo-Commit {commit}; "
        f"alias {folder}/$1; }} location /api/ {{ default_type application/json; root {home}; }}"
    )
    settings = NGINX.format(home=home, port=port, root=folder).replace("root ", f"{route} root ", 1)
    (home / "nginx.conf").write_text(settings)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with running([program, "-c", str(home / "nginx.conf"), "-p", str(home)]):
        time.sleep(0.5)
        yield Place(f"http://127.0.0.1:{port}")


def copy_and_name(base: Path, folder: Path) -> float:
    """Seconds of copying a folder and of hashing the copy."""
    target = base / "copied"
    start = time.perf_counter()
    subprocess.run(["cp", "-r", str(folder), str(target)], check=True)
    subprocess.run(
        ["sha256sum", *sorted(map(str, target.iterdir()))], check=True, stdout=subprocess.DEVNULL
    )
    seconds = time.perf_counter() - start
    shutil.rmtree(target)
    return seconds


def in_turn(runs: int, *deeds: Callable[[], float]) -> list[float]:
    """Do each deed in turn; the medians, without the first round, which warms."""
    found: list[list[float]] = [[] for _ in deeds]
    for run in range(runs + 1):
        for place, deed in enumerate(deeds):
            seconds = deed()
            if run:
                found[place].append(seconds)
    return [statistics.median(seconds) for seconds in found]


def xet_bytes(home: Path) -> int:
    """What the hub holds of bytes that came by Xet."""
    with contextlib.closing(sqlite3.connect(home / "hub.sqlite3")) as database:
        found = database.execute("SELECT COALESCE(SUM(size), 0) FROM registry_xorb").fetchone()
    return int(found[0])


def misses(place: Place, name: str, token: str) -> list[float]:
    """Milliseconds of each answer that a file is not there, over one connection."""
    line = http.client.HTTPConnection(urlsplit(place.address).netloc)
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    times = []
    for _ in range(ASKS):
        for path in MISSING:
            start = time.perf_counter()
            line.request("HEAD", f"/zoo/{name}/resolve/main/{path}", headers=sent)
            answer = line.getresponse()
            answer.read()
            times.append((time.perf_counter() - start) * 1000)
            assert answer.headers["X-Error-Code"] == "EntryNotFound", (answer.status, path)
    line.close()
    return sorted(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="hub-bench-", ignore_cleanup_errors=True) as text:
        base = Path(text)
        base.chmod(0o755)  # nginx serves as another user when it is started by root
        folder = base / "files"
        make_folder(folder, options.megabytes)
        client = Client(base)
        print(f"huggingface_hub {client.version}, {options.megabytes} MB")
        with hub(base / "hub") as place:
            measure(client, place, base, folder, options.runs)
    print(f"load after: {os.getloadavg()[0]:.2f}")


def measure(client: Client, place: Place, base: Path, folder: Path, runs: int) -> None:
    """Every figure, in the order in which one needs the other."""
    client.up(place, "served", folder, xet=False)
    wait_until_published(place, "served")
    with nginx(base / "nginx", folder, place) as plain:
        ours, theirs = in_turn(runs, lambda: client.down(place), lambda: client.down(plain))
    print(f"snapshot_download: hub {ours:.2f} s, nginx {theirs:.2f} s, ratio {ours / theirs:.2f}")
    names = (f"up{number}" for number in range(10_000))
    xet, lfs, least = in_turn(
        runs,
        lambda: client.up(place, next(names), fresh(folder), xet=True),
        lambda: client.up(place, next(names), fresh(folder), xet=False),
        lambda: copy_and_name(base, folder),
    )
    print(f"upload_folder: Xet {xet:.2f} s, LFS {lfs:.2f} s, cp and sha256sum {least:.2f} s, ")
    print(f"  ratios {xet / least:.2f} and {lfs / least:.2f}")
    client.up(place, "changing", fresh(folder), xet=True)
    before = xet_bytes(place.home)
    change(folder / "half.bin")
    client.up(place, "changing", folder, xet=True)
    moved, size = xet_bytes(place.home) - before, (folder / "half.bin").stat().st_size
    print(f"one percent of {size:,} bytes changed: {moved:,} bytes moved, {moved / size:.2%}")
    client.up(place, "hidden", small(base), xet=False, private=True)
    for title, name, token in (("guest", "served", ""), ("token, private", "hidden", place.token)):
        times = misses(place, name, token)
        print(
            f"missing file, {title}: median {statistics.median(times):.1f} ms, "
            f"longest {times[-1]:.1f} ms"
        )


def fresh(folder: Path) -> Path:
    """The folder with other bytes in every large file, so that nothing of it is there already."""
    for path in folder.glob("*.bin"):
        with path.open("r+b") as file:
            content = bytearray(file.read())
            key = os.urandom(1)[0] or 1
            file.seek(0)
            file.write(content.translate(bytes(value ^ key for value in range(256))))
    return folder


def small(base: Path) -> Path:
    """A folder with nothing but a model."""
    from tests.samples import mlp

    (base / "small").mkdir()
    (base / "small" / "model.onnx").write_bytes(mlp())
    return base / "small"


if __name__ == "__main__":
    main()
