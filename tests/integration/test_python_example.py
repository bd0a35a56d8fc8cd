"""The sample that uses every function of the client: it runs, and pyright reads it strictly."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.contracts.test_public_names import ROOT, SAMPLE
from tests.faults.conftest import Hub, own_environment
from tests.integration.environments import python_with

pytestmark = pytest.mark.live


def test_every_function_works(tmp_path):
    hub = Hub(tmp_path / "home")
    settings = {
        "HUB_URL": hub.address,
        "HUB_TOKEN": hub.token,
        "HUB_CACHE": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    try:
        done = subprocess.run(
            [sys.executable, SAMPLE, "admin"],
            check=False, env=own_environment() | settings, capture_output=True, text=True,
        )  # fmt: skip
    finally:
        hub.stop()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("published")] == [
        line for line in lines if line.endswith(("@1", "@2"))
    ]
    for line in ("changed: ['model.onnx', 'notes.txt']", "nodes: 1", "variant: opset18"):
        assert line in lines
    assert lines[-1] == "token removed: True"


def test_pyright_reads_it_strictly(tmp_path):
    python = python_with("pyright", "pyright[nodejs]")
    shutil.copy(SAMPLE, tmp_path)
    settings = {
        "include": [SAMPLE.name],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [python, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"],
        check=False, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    assert report["generalDiagnostics"] == []
