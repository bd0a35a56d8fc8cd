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
    assert not (target / "hub" / "server").exists()
    environment = {"PYTHONPATH": os.pathsep.join([str(target), sysconfig.get_path("purelib")])}
    for arguments in (["-m", "hub", "--version"], ["-c", "import hub; print(hub.__file__)"]):
        program = [sys._base_executable, *arguments]
        run = subprocess.run(
            program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() in {f"hub {__version__}", str(target / "hub" / "__init__.py")}
