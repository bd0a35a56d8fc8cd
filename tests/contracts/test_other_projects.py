"""The wheel beside a stand-in of another project whose package is called `hub`, too."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from tests.contracts.test_wheel import PIP, wheel

__all__ = ["wheel"]
CURE = "pip install --force-reinstall --no-deps onnx-hub"
FILES = {
    "hub/__init__.py": "import a_module_of_another_project\n",
    "hub-3.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: hub\nVersion: 3.0\n",
    "hub-3.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
    "Tag: py3-none-any\n",
}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / "hub-3.0-py3-none-any.whl"
    record = "".join(f"{name},,\n" for name in (*FILES, "hub-3.0.dist-info/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (FILES | {"hub-3.0.dist-info/RECORD": record}).items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def environment(tmp_path):
    """An environment of Python without packages."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture
def pip(environment):
    def call(verb, *words):
        options = ["--no-deps", "--no-index", "--no-compile"] if verb == "install" else ["--yes"]
        subprocess.run(
            [*PIP, "--python", environment, verb, "--quiet", *options, *words],
            check=True, env=os.environ | {"PIP_CONFIG_FILE": os.devnull},
        )  # fmt: skip

    return call


@pytest.fixture
def run(environment, tmp_path):
    """Run a program of the environment: code, output, errors."""

    def call(name, *words):
        own = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            [environment / "bin" / name, *words],
            cwd=tmp_path, env=own, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    return call


def works(run):
    same = "import hub, onnx_hub; print(onnx_hub.load is hub.load, onnx_hub.Hub is hub.Hub)"
    assert run("python", "-c", same) == (0, "True True", "")
    for command in ("hub", "onnx-hub"):
        code, output, _ = run(command, "--version")
        assert code == 0
        assert output.startswith("hub ")
    return True


def is_explained(run):
    for command in ("hub", "onnx-hub"):
        code, _, errors = run(command, "serve")
        assert code == 1
        assert len(errors.splitlines()) == 1
        assert CURE in errors
    code, _, errors = run("python", "-c", "import onnx_hub")
    assert code == 1
    assert errors.splitlines()[-1].startswith("ImportError: Another project")
    assert "a_module_of_another_project" not in errors
    return True


def test_another_project_is_installed_after_ours(wheel, other, pip, run):
    pip("install", wheel)
    assert works(run)
    pip("install", other)
    assert is_explained(run)
    pip("uninstall", "hub")
    assert is_explained(run)
    pip("install", "--force-reinstall", wheel)
    assert works(run)


def test_another_project_was_installed_before_ours(wheel, other, pip, run):
    pip("install", other)
    pip("install", wheel)
    assert works(run)
    pip("uninstall", "hub")
    assert is_explained(run)
    pip("install", "--force-reinstall", wheel)
    assert works(run)
