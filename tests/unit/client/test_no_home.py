"""The client in a container as OpenShift runs it: a user that the system does not know, no HOME."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.client.conftest import make_model

ROOT = Path(__file__).parents[3]
USER = 54321
# The root is read-only; the folder alone can be written.
CONTAINER = (
    'mount --bind / "$1" && mount -o remount,ro,bind "$1" && mount --bind "$2" "$1$2" '
    f'&& folder="$1" && shift 2 && exec chroot --userspec={USER}:{USER} "$folder" "$@"'
)


@pytest.fixture
def writable():
    """A folder that every user can write to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield name


@pytest.fixture
def contained(fake, writable, tmp_path):
    """Run Python in such a container; returns (exit code, output, errors)."""
    if os.geteuid() or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("needs root and mount namespaces")
    fake.add("zoo/ones", make_model())
    place = tmp_path / "root"
    place.mkdir()

    def run(*words, **environment):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", CONTAINER, "sh", place, writable, sys.executable,
             *words],
            env={"PYTHONPATH": str(ROOT), "HUB_URL": fake.url, **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    return run


LOADS = "import hub; print(len(hub.load('zoo/ones').graph.node), hub.download('zoo/ones').name[0])"


def test_a_cache_alone_is_enough(contained, writable):
    assert contained("-c", LOADS, HUB_CACHE=f"{writable}/cache") == (0, "1 1", "")
    assert contained("-m", "hub", "get", "zoo/ones", HUB_CACHE=f"{writable}/cache")[0] == 0


@pytest.mark.parametrize(
    ("words", "environment", "variable"),
    [
        (("get", "zoo/ones"), {}, "HUB_CACHE"),
        (("get", "zoo/ones"), {"HOME": "/"}, "HUB_CACHE"),
        (("get", "zoo/ones"), {"HUB_CACHE": "~/cache"}, "HUB_CACHE"),
        (("cache", "list"), {}, "HUB_CACHE"),
        (("login",), {"HUB_CACHE": "/cache", "HUB_TOKEN": "hf_secret"}, "XDG_CONFIG_HOME"),
        (("search", "ones"), {"HUB_CACHE": "/cache", "HUB_CA_BUNDLE": "~/ca.pem"}, "HUB_CA_BUNDLE"),
    ],
)
def test_what_is_missing_is_one_line_with_its_variable(contained, words, environment, variable):
    code, _, errors = contained("-m", "hub", *words, **environment)
    assert code == 1
    assert len(errors.splitlines()) == 1
    assert f"Set {variable} to" in errors


def test_the_functions_of_onnx_hub_name_their_variable(contained):
    program = "from hub import onnx_compat; onnx_compat.get_dir()"
    assert "Set ONNX_HOME to" in contained("-c", program, HUB_CACHE="/cache")[2]
