"""A remote namespace as each huggingface_hub uses it, whose hub lacks the model at first."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.integration.test_huggingface import python
from tests.integration.test_mirrors import LARGE, add, here, namespace, there

__all__ = ["here", "python", "there"]

SCRIPT = """
import sys

from huggingface_hub import __version__, hf_hub_download, snapshot_download

model = sys.argv[1]
folder = snapshot_download(model, revision="main")
weights = hf_hub_download(model, "weights.bin", revision="v1")
print(__version__)
print(folder)
print(weights)
"""


def test_the_first_download_fetches_the_model(there, here, python, tmp_path):
    remote = python.parents[1].name.replace(".", "-")  # each release finds a namespace without it
    add(here, f"{there.address}/zoo", namespace(here, remote), pull_through=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("H")}
    given = {
        "HF_ENDPOINT": here.address,
        "HF_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    ended = subprocess.run(
        [python, "-c", SCRIPT, f"{remote}/net"], env=kept | given, check=False,
        capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    version, folder, weights = ended.stdout.splitlines()[-3:]
    assert version.startswith("0.36.") == remote.endswith("0-36")
    assert {"model.onnx", "README.md"} <= {path.name for path in Path(folder).iterdir()}
    assert Path(weights).read_bytes() == LARGE
