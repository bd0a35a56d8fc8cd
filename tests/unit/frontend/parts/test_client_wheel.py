"""The client that a hub serves as a wheel: pip installs it, and it works without the server."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

import pytest
from django.test import Client

from frontend.parts import client_wheel
from hub.protocol.version import __version__

pytestmark = pytest.mark.django_db
PIP = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
OPTIONS = ["--no-deps", "--no-index", "--quiet", "--no-compile"]


def test_pip_installs_a_client_that_runs_without_the_server(settings, tmp_path):
    settings.HUB_PUBLIC_URL = "https://hub.example.org"
    requirement = client_wheel.requirement("cpu")
    name, _, address = requirement.partition(" @ ")
    assert name == "onnx-hub[cpu]"
    path = address.removeprefix("https://hub.example.org")
    answers = [Client().get(each) for each in (path, "/client")]
    contents = {b"".join(answer.streaming_content) for answer in answers}
    assert len(contents) == 1
    file_name = f"onnx_hub-{__version__}-py3-none-any.whl"
    assert path == f"/client/{file_name}"
    for answer in answers:
        assert f'filename="{file_name}"' in answer["Content-Disposition"]

    wheel, target = tmp_path / file_name, tmp_path / "installed"
    wheel.write_bytes(contents.pop())
    command = [*PIP, "install", *OPTIONS, "--target", target, wheel]
    subprocess.run(command, check=True, env=os.environ | {"PIP_CONFIG_FILE": os.devnull})
    server = [path.name for path in (target / "hub" / "server").iterdir()]
    assert sorted(server) == ["__init__.py", "apps"]
    environment = {"PYTHONPATH": os.pathsep.join([str(target), sysconfig.get_path("purelib")])}

    def run(*arguments):
        program = [sys._base_executable, *arguments]
        return subprocess.run(
            program, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    assert run("-m", "hub", "--version").stdout.strip() == f"hub {__version__}"
    place = run("-c", "import hub; print(hub.__file__)").stdout.strip()
    assert place == str(target / "hub" / "__init__.py")
    assert "usage: hub bench" in run("-m", "hub", "bench", "--help").stdout
    (tmp_path / "code.py").write_text("train = right = None")
    simulated = run(
        *("-m", "hub", "training", "simulate", "none.onnx", "--data", "none.npz"),
        *("--code", "code.py"),
    )
    assert "Traceback" not in simulated.stderr
    assert "none.npz" in simulated.stderr
    served = run("-m", "hub", "serve")
    assert served.returncode == 1
    assert "only the client is installed here" in served.stderr
