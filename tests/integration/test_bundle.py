"""The bundle of `scripts/bundle`: whole, and enough to install a hub where there is no network.

HUB_TEST_BUNDLE is the folder that the script wrote.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hub.protocol.version import __version__
from tests import samples
from tests.integration import charts

BUNDLE = Path(os.environ.get("HUB_TEST_BUNDLE", "/nowhere"))
pytestmark = pytest.mark.skipif(not BUNDLE.is_dir(), reason="HUB_TEST_BUNDLE names no bundle")
ROOT = Path(__file__).resolve().parents[2]


def test_every_file_has_its_checksum():
    lines = (BUNDLE / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ./") for line in lines)}
    files = {path.relative_to(BUNDLE).as_posix() for path in BUNDLE.rglob("*") if path.is_file()}
    assert sums.keys() == files - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((BUNDLE / name).read_bytes()).hexdigest() == digest, name


def test_it_has_every_package_of_the_lock_and_the_pages_of_the_release():
    wheels = {path.name.split("-")[0].lower() for path in (BUNDLE / "wheels").iterdir()}
    lock = (BUNDLE / "worker-cpu.lock").read_text(encoding="utf-8")
    for name, condition in re.findall(r"^([a-z0-9.-]+)==[^ ]+( ; )?", lock, re.MULTILINE):
        assert condition or re.sub(r"[-.]+", "_", name) in wheels, name
    assert (BUNDLE / f"wheels/onnx_hub-{__version__}-py3-none-any.whl").is_file()
    page = (ROOT / "docs/air-gapped.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+)`", page.split("|---|---|")[1].split("\n\n")[0]):
        assert (BUNDLE / name).exists() or name.strip("/") in {"images", "starter", "server", "s3",
            "parquet", "socks", "fsspec"}, name  # fmt: skip


@charts.needs_helm
def test_helm_reads_its_chart():
    (archive,) = (BUNDLE / "chart").iterdir()
    script = "import sys, helm_python; print(helm_python.Chart.load(sys.argv[1]).metadata)"
    done = subprocess.run(
        [charts.HELM, "-c", script, archive], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "onnx-hub" in done.stdout


def test_a_hub_is_installed_without_a_network(tmp_path):
    cut = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if shutil.which("unshare") is None or subprocess.run([*cut, "true"], check=False).returncode:
        pytest.skip("no network of its own can be made here")
    (tmp_path / "model.onnx").write_bytes(samples.mlp())
    own = {"HOME": str(tmp_path), "PATH": os.defpath, "TMPDIR": str(tmp_path)}
    script = ROOT / "tests/integration/clients/offline.py"
    done = subprocess.run(
        [*cut, sys._base_executable, script, BUNDLE, tmp_path],
        cwd=tmp_path, env=own, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("version: "))
    assert line.startswith(f"version: published equal {tmp_path}/hub/"), line
