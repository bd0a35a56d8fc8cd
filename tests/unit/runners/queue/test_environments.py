"""Environments of other runtimes: whole or not there, made once, clear words when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from runners.queue import environments
from runners.queue.environments import RuntimeEnvironmentError

PINS = [f"{name}=={version(name)}" for name in ("onnx", "numpy")]


@pytest.fixture
def home(tmp_path, settings):
    settings.HUB_HOME = tmp_path
    return tmp_path


@pytest.fixture
def commands(monkeypatch):
    """What would be run; `fail` makes the command that holds a word fail."""
    ran = []

    class Commands(list):
        fail = ""

    ran = Commands()

    def run(command, **_more):
        ran.append(command)
        if ran.fail and ran.fail in command:
            return subprocess.CompletedProcess(command, 1, "", "no route\nto the index")
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("runners.queue.environments.subprocess.run", run)
    return ran


def test_the_hubs_own_runtimes_need_nothing(home, commands):
    for name in ("", "onnxruntime", "onnx-reference"):
        assert environments.prepare(name, print) == sys.executable
        assert environments.interpreter(name) == sys.executable
    assert commands == []


def test_an_environment_is_made_once_with_pinned_wheels(home, commands):
    told = []
    python = environments.prepare("openvino", told.append)
    assert python == str(home / "runtimes/openvino/bin/python")
    assert [command[-3:] for command in commands][1] == ["openvino==2026.4.1", *PINS]
    assert len(told) == 3
    assert environments.prepare("openvino", told.append) == python
    assert len(commands) == 2


def test_another_version_of_the_hub_makes_it_anew(home, commands):
    environments.prepare("openvino", print)
    seal = home / "runtimes/openvino" / environments.SEAL
    seal.write_text(json.dumps({"requirements": ["onnx==1.0"], "python": "3.11"}))
    with pytest.raises(RuntimeEnvironmentError, match="hub worker --runtime openvino"):
        environments.interpreter("openvino")
    environments.prepare("openvino", print)
    assert len(commands) == 4


@pytest.mark.parametrize("word", ["venv", "pip"])
def test_what_fails_says_why_and_leaves_nothing_in_its_place(home, commands, word):
    commands.fail = word
    with pytest.raises(RuntimeEnvironmentError, match="cannot be"):
        environments.prepare("openvino", print)
    assert not (home / "runtimes/openvino").exists()
    commands.fail = ""
    assert environments.prepare("openvino", print)


def test_an_unknown_runtime_is_named_with_those_that_are_known(home):
    with pytest.raises(RuntimeEnvironmentError, match=r"nknown runtime nix.*openvino"):
        environments.prepare("nix", print)
