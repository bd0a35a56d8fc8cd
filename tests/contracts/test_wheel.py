"""The wheel: its names in site-packages, everything in it, and a hub that runs from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import threading
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.faults.conftest import wait_for

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("registry", "metadata", "runners", "frontend", "docs")
# Nothing is asked of an index, whatever the machine's own configuration says.
PIP = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
PAGES = ["/", "/models", "/help", "/docs/quickstart", "/health", "/login", "/jobs"]


def fetch(address: str) -> bytes:
    """What the hub under test answers; raises HTTPError for anything but success."""
    with urlopen(address, timeout=10) as answer:  # noqa: S310 - our own address
        return answer.read()


def sources(folder: str) -> set[str]:
    """The files of a package as its source has them."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.parts)
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pytest.importorskip("hatchling", reason="building needs hatchling, of the dev extra")
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    environment = os.environ | {"PIP_CONFIG_FILE": os.devnull}
    subprocess.run([*command, "--wheel-dir", folder, ROOT], check=True, env=environment)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    target = tmp_path_factory.mktemp("installed")
    command = [*PIP, "install", "--no-deps", "--no-index", "--quiet", "--no-compile"]
    environment = os.environ | {"PIP_CONFIG_FILE": os.devnull}
    subprocess.run([*command, "--target", target, wheel], check=True, env=environment)
    return target


@pytest.fixture(scope="module")
def hub(installed, tmp_path_factory):
    """A hub that runs from the wheel alone, and its address.

    The interpreter below the virtual environment knows nothing of the checkout installed there.
    """
    home = tmp_path_factory.mktemp("home")
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HUB_", "DJANGO_", "DATABASE_", "REDIS_"))
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    command = [sys._base_executable, "-m", "hub", "serve", "--no-samples", "--no-worker"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--home", str(home)],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []

    def read():
        for line in process.stdout:
            lines.append(line)  # noqa: PERF402 - each as it comes

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    found = wait_for(
        lambda: next((line for line in lines if line.startswith("address: ")), None),
        f"the hub to start from the wheel: {lines}",
        60,
    )
    yield found.removeprefix("address: ").strip()
    process.terminate()
    process.wait(30)
    reader.join()
    process.stdout.close()


def test_it_installs_these_names(names):
    roots = {name.split("/")[0] for name in names}
    (about,) = roots - {"hub", "onnx_hub", "onnx_hub_command.py"}
    assert re.fullmatch(r"onnx_hub-[\w.]+\.dist-info", about)
    assert {f"{about}/entry_points.txt", f"{about}/licenses/LICENSE"} <= names


def test_everything_is_in_it_and_nothing_else(names):
    expected = sources("hub") | {
        f"hub/server/apps/{name}" for room in ROOMS for name in sources(room)
    }
    held = {name for name in names if name.startswith("hub/")}
    assert held - expected == set()
    assert expected - held == set()


@pytest.mark.parametrize(
    "name",
    [
        "hub/py.typed",
        "hub/server/samples/digits-cnn/model.onnx",
        "hub/server/apps/frontend/static/frontend/base.css",
        "hub/server/apps/frontend/templates/base.html",
        "hub/server/apps/frontend/pages/tryouts/templates/tryouts/try.html",
        "hub/server/apps/registry/migrations/0002_laws.py",
        "hub/server/apps/registry/management/commands/verify_blobs.py",
        "hub/server/apps/runners/engine/__main__.py",
        "hub/server/apps/runners/migrations/0001_tables.py",
    ],
)
def test_what_must_not_be_forgotten(names, name):
    assert name in names


def test_the_installed_folder_has_these_names(installed):
    found = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert found - {"bin"} == {"hub", "onnx_hub", "onnx_hub_command.py"}


@pytest.mark.live
def test_a_hub_runs_from_it_with_every_file_of_its_pages(hub):
    assert fetch(f"{hub}/healthz") == b"ok"
    pages = [fetch(hub + page).decode() for page in PAGES]
    linked = {
        address for page in pages for address in re.findall(r'(?:href|src)="(/static/[^"#]+)', page)
    }
    assert len(linked) >= 5
    got = {address: fetch(hub + address) for address in sorted(linked)}
    assert all(got.values())
    fonts = {
        f"{address.rpartition('/')[0]}/{name}"
        for address, content in got.items()
        if address.endswith(".css")
        for name in re.findall(r'url\("?([^")]+\.woff2)"?\)', content.decode())
    }
    assert fonts
    assert all(fetch(hub + font).startswith(b"wOF2") for font in fonts)
