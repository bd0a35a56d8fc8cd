"""A package that a runtime could not load, pushed to a whole hub: named, or refused if asked to."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import time
import urllib.request

import pytest

import hub as client
from tests import decoders, packaged
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


def test_a_decoder_is_measured_and_loads_in_genai(hub, tmp_path, monkeypatch):
    genai = pytest.importorskip("onnxruntime_genai")
    folder(tmp_path / "llm", decoders.genai())
    pushed = command(hub, tmp_path, "push", "zoo/llm", str(tmp_path / "llm"))
    assert pushed.returncode == 0, pushed.stderr
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "other"))
    reader = client.Hub(hub.address, token=hub.token)
    model = reader.genai("zoo/llm")
    options = genai.GeneratorParams(model)
    options.set_search_options(max_length=20)
    generator = genai.Generator(model, options)
    generator.append_tokens([5, 6, 7])
    generator.generate_next_token()
    assert generator.token_count() == 4
    deadline = time.monotonic() + 300
    while reader.packages.read("zoo/llm", 1).generation is None:
        assert time.monotonic() < deadline
        time.sleep(1)
    shown = command(hub, tmp_path, "package", "zoo/llm").stdout
    for words in ("passed: Steps with the cache equal one pass", "Generation of model.onnx"):
        assert words in shown
    page = urllib.request.urlopen(f"{hub.address}/models/zoo/llm").read().decode()  # noqa: S310
    blocks = map(html.unescape, re.findall(r"<pre[^>]*>(?:<code[^>]*>)?(.*?)<", page, re.DOTALL))
    (code,) = [block for block in blocks if "hub.genai(" in block]
    environment = hub.environment | {"HUB_URL": hub.address, "HUB_CACHE": str(tmp_path / "own")}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_a_component_is_loaded_by_its_role(hub, tmp_path, monkeypatch):
    folder(tmp_path / "t5", packaged.optimum())
    assert command(hub, tmp_path, "push", "zoo/t5", str(tmp_path / "t5")).returncode == 0
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "other"))
    reader = client.Hub(hub.address, token=hub.token)
    names = {port.name for port in reader.load("zoo/t5", component="encoder").graph.input}
    assert "input_ids" in names
    with pytest.raises(client.errors.ComponentMissing, match="encoder"):
        reader.load("zoo/t5", component="vocoder")
