"""Environments of other people's clients, each in a folder of its own below `HUB_TEST_CLIENTS`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.integration.test_huggingface import HERE, folder


def python_with(name, *wanted):
    """The interpreter of an environment with these packages, as they are released now."""
    place = folder() / name
    found = place / "bin" / "python"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        try:
            for each in wanted:
                subprocess.run([found, "-m", "pip", "install", "--quiet", each], check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(place)
            raise
    return found


def node_with(name, *wanted):
    """A folder with these packages of npm, as they are released now, and our scripts for them."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed here")
    place = folder() / name
    if not all((place / "node_modules" / each).exists() for each in wanted):
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}')
        # ONNX Runtime for the CPU is in its package; the installer would fetch the one for CUDA.
        given = os.environ | {"ONNXRUNTIME_NODE_INSTALL": "skip"}
        subprocess.run(["npm", "install", "--silent", *wanted], cwd=place, env=given, check=True)
    for script in (HERE / "clients").glob("*.mjs"):
        shutil.copy(script, place / script.name)
    return place
