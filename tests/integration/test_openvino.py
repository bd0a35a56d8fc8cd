"""A runtime that cannot share the hub's environment joins with one command.

Its environment is that of HUB_TEST_RUNTIMES, or made here where there is none.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import samples
from tests.faults.conftest import ROOT, Hub, wait_for
from tests.integration.test_proofs import bundled, publish, results

INSTALL_SECONDS = 600


def test_an_openvino_worker_joins_and_judges_what_was_published_before(tmp_path):
    hub = Hub(tmp_path / "home", HUB_LIMITS_STAGE_SECONDS="20", HUB_LIMITS_LEASE_SECONDS="30")
    command = [sys.executable, "-m", "hub", "worker", "--runtime", "openvino", "--home"]
    command.append(str(hub.home))
    if prepared := os.environ.get("HUB_TEST_RUNTIMES"):
        (hub.home / "runtimes").symlink_to(prepared)
    worker = None
    try:
        content = samples.mlp()
        path = publish(hub, "mlp", content, bundled(content))
        made = subprocess.run(
            [*command, "--prepare"], cwd=ROOT, env=hub.environment, check=False,
            capture_output=True, text=True, timeout=INSTALL_SECONDS,
        )  # fmt: skip
        if made.returncode and "cannot be installed" in made.stderr:
            pytest.skip(f"the package index cannot be reached: {made.stderr.strip()[-200:]}")
        assert made.returncode == 0, made.stderr
        worker = subprocess.Popen(command, cwd=ROOT, env=hub.environment)

        def judged():
            found = results(hub, path, runtime="openvino")
            return found if ("default", "openvino", "determinism") in found else None

        found = wait_for(judged, "the verdicts of OpenVINO", 180)
        assert found["default", "openvino", "bundled"]["outcome"] == "passed"
        assert found["default", "openvino", "reference"]["outcome"] == "passed"
        assert found["default", "openvino", "bundled"]["runtime_version"]
        runtimes = {row["name"] for row in hub.call("GET", "runtimes")[2]["items"]}
        assert runtimes == {"onnxruntime", "onnx-reference", "openvino"}
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait(30)
        hub.stop()
