"""A package that a runtime could not load, pushed to a whole hub: named, or refused if asked to."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hub as client
from tests import packaged
from tests.faults.conftest import ROOT, Hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    made = Hub(tmp_path_factory.mktemp("packages") / "home", HUB_LIMITS_LEASE_SECONDS="60")
    yield made
    made.stop()


def folder(path, files):
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return str(path)


def command(hub, tmp_path, *words):
    environment = hub.environment | {
        "HUB_URL": hub.address,
        "HUB_TOKEN": hub.token,
        "HUB_CACHE": str(tmp_path / "cache"),
    }
    return subprocess.run(
        [sys.executable, "-m", "hub", *words],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_a_strict_push_publishes_no_package_with_errors(hub, tmp_path):
    files = packaged.optimum()
    broken = folder(
        tmp_path / "broken", files | {"config.json": packaged.written({"vocab_size": 7})}
    )
    refused = command(hub, tmp_path, "push", "--strict", "zoo/parts", broken)
    assert refused.returncode == 1, refused.stderr
    assert "vocabulary-differs" in refused.stderr
    assert hub.state("models/zoo/parts/versions/1") == "submitted"
    whole = folder(tmp_path / "whole", files)
    done = command(hub, tmp_path, "push", "--strict", "zoo/parts", whole)
    assert done.returncode == 0, done.stderr
    assert "zoo/parts@2 published" in done.stdout


def test_a_push_that_is_not_strict_names_the_errors(hub, tmp_path):
    files = packaged.genai()
    files = {name: content for name, content in files.items() if not name.endswith(".onnx")}
    files["other.onnx"] = packaged.passing("x", "y", [1])
    done = command(hub, tmp_path, "push", "zoo/lost", folder(tmp_path / "lost", files))
    assert done.returncode == 0, done.stderr
    assert "does not exist in this version" in done.stderr
    assert "file-missing" in command(hub, tmp_path, "package", "zoo/lost").stdout


def test_a_component_is_loaded_by_its_role(hub, tmp_path, monkeypatch):
    folder(tmp_path / "t5", packaged.optimum())
    assert command(hub, tmp_path, "push", "zoo/t5", str(tmp_path / "t5")).returncode == 0
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "other"))
    reader = client.Hub(hub.address, token=hub.token)
    names = {port.name for port in reader.load("zoo/t5", component="encoder").graph.input}
    assert "input_ids" in names
    with pytest.raises(client.errors.ComponentMissing, match="encoder"):
        reader.load("zoo/t5", component="vocoder")
