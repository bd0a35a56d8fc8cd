"""Components of packages are loaded by name or role, and a strict push refuses errors."""

from __future__ import annotations

import logging
import sys
import types
from pathlib import Path

import pytest

from hub.cli import command as cli_command
from hub.client import packages
from hub.protocol import problems
from tests import decoders, packaged
from tests.unit.client.conftest import make_model

ERROR = {
    "code": "file-missing",
    "severity": "error",
    "file": "genai_config.json",
    "field": "model.decoder.filename",
    "message": "The file 'decoder.onnx' does not exist in this version.",
    "cure": "Add 'decoder.onnx'.",
}
PENDING = {"state": "pending", "checked_at": None, "components": [], "findings": []}


def answer(*parts, findings=()):
    return {
        "state": "checked",
        "checked_at": "2026-11-29T12:00:00Z",
        "layout": "a layout of a newer hub",
        "title": "New",
        "components": [
            {"name": name, "role": role, "model": model, "files": [model]}
            for name, role, model in parts
        ],
        "findings": list(findings),
    }


PARTS = (
    ("decoder_model_merged", "decoder", "onnx/decoder_model_merged.onnx"),
    ("decoder_model", "decoder", "onnx/decoder_model.onnx"),
    ("gone", "joiner", "onnx/gone.onnx"),
    ("tokenizer", "tokenizer", ""),
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(packages, "POLL_SECONDS", 0.001)


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "package"
    for path, content in packaged.genai(filename="decoder.onnx").items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(content)
    return base


@pytest.fixture
def package(fake):
    """A version with two decoders, whose graphs have different names."""
    files = {
        f"onnx/{name}.onnx": packaged.passing("x", name, [1])
        for name in ("decoder_model", "decoder_model_merged", "encoder_model")
    }
    fake.add("zoo/t5", files, entry="onnx/encoder_model.onnx")
    fake.packages.append(answer(*PARTS))


@pytest.mark.parametrize(
    ("component", "output"),
    [
        (None, "encoder_model"),
        ("decoder", "decoder_model_merged"),
        ("decoder_model", "decoder_model"),
        ("decoder_model_merged", "decoder_model_merged"),
    ],
)
@pytest.mark.usefixtures("package")
def test_a_component_is_loaded_by_its_name_or_its_role(client, component, output):
    model = client.load("zoo/t5", component=component)
    assert [port.name for port in model.graph.output] == [output]
    session = client.session("zoo/t5", ["CPUExecutionProvider"], component=component)
    assert [port.name for port in session.get_outputs()] == [output]


@pytest.mark.usefixtures("package")
def test_a_component_that_is_not_there_names_those_that_are(client):
    with pytest.raises(problems.ComponentMissing, match=r"'unet' .* decoder_model_merged, deco"):
        client.load("zoo/t5", component="unet")
    for name in ("tokenizer", "joiner"):
        with pytest.raises(problems.ComponentMissing):
            client.load("zoo/t5", component=name)
    for ref, options in (
        ("zoo/t5", {"variant": "main"}),
        ("zoo/t5", {"opset": 17}),
        ("zoo/t5:main", {}),
    ):
        with pytest.raises(problems.InvalidRequest, match="not both"):
            client.load(ref, component="decoder", **options)


def test_a_version_without_a_checked_package_has_no_component(fake, client):
    fake.add("zoo/ones", make_model())
    with pytest.raises(problems.NotFound):
        client.load("zoo/ones", component="decoder")
    fake.packages.append(PENDING)
    with pytest.raises(problems.ComponentMissing, match="is pending"):
        client.load("zoo/ones", component="decoder")


@pytest.mark.usefixtures("default", "package")
def test_the_command_prints_components_and_findings(fake, capsys):
    fake.packages[0] = answer(*PARTS[:1], PARTS[3], findings=[ERROR])
    assert cli_command.main(["package", "zoo/t5@1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["New"],
        ["COMPONENT", "ROLE", "MODEL"],
        ["decoder_model_merged", "decoder", "onnx/decoder_model_merged.onnx"],
        ["tokenizer", "tokenizer", "-"],
    ]
    assert lines[4:] == [
        "",
        "error  file-missing  genai_config.json: model.decoder.filename",
        f"  {ERROR['message']} {ERROR['cure']}",
    ]


def test_a_push_logs_the_errors_of_its_package(fake, client, folder, caplog):
    fake.packages.extend([PENDING, answer(findings=[ERROR])])
    with caplog.at_level(logging.WARNING, "hub.client"):
        assert client.push("ada/llm", folder)["state"] == "published"
    [line] = caplog.messages
    assert line == (
        "ada/llm@1: genai_config.json: model.decoder.filename: The file 'decoder.onnx' does not "
        "exist in this version. Add 'decoder.onnx'."
    )


def test_a_strict_push_publishes_nothing_with_errors(fake, client, folder):
    fake.packages.extend([PENDING, answer(findings=[ERROR])])
    with pytest.raises(problems.ChecksFailed, match="was not published") as caught:
        client.push("ada/llm", folder, strict=True)
    assert caught.value.extensions["findings"] == [ERROR]
    assert fake.versions["ada/llm"][0]["state"] == "submitted"
    assert fake.count("POST", "/publish") == 0


def test_a_strict_push_publishes_a_package_without_errors(fake, client, folder):
    fake.packages.append(answer(findings=[ERROR | {"severity": "warning"}]))
    version = client.push("ada/llm", folder, strict=True)
    assert version["state"] == "published"
    assert fake.count("POST", "/publish") == 1


def test_a_strict_push_needs_a_hub_with_packages(fake, client, folder):
    with pytest.raises(problems.NotFound):
        client.push("ada/llm", folder, strict=True)
    assert fake.versions["ada/llm"][0]["state"] == "submitted"
    with pytest.raises(problems.InvalidRequest, match="wait"):
        client.push("ada/llm", folder, strict=True, wait=False)


def test_a_push_of_a_single_model_asks_for_no_package(fake, client, tmp_path):
    (tmp_path / "model.onnx").write_bytes(make_model()["model.onnx"])
    client.push("ada/ones", tmp_path / "model.onnx", strict=True)
    client.push("ada/twos", tmp_path / "model.onnx")
    assert fake.count("GET", "/package") == 0
    assert [rows[0]["state"] for rows in fake.versions.values()] == ["published"] * 2


def test_a_hub_without_packages_takes_a_push(fake, client, folder):
    assert client.push("ada/llm", folder)["state"] == "published"
    assert fake.count("GET", "/package") == 1


@pytest.fixture
def runtime(monkeypatch):
    """A module in the place of onnxruntime_genai, whose model is the folder that it was given."""
    monkeypatch.setitem(sys.modules, "onnxruntime_genai", types.SimpleNamespace(Model=Path))


@pytest.mark.usefixtures("runtime")
def test_genai_gets_the_folder_of_its_package(fake, client):
    fake.add("zoo/llm", packaged.genai())
    folder = client.genai("zoo/llm")
    assert {path.name for path in folder.iterdir()} == set(packaged.genai())


@pytest.mark.usefixtures("runtime")
def test_genai_fetches_one_of_several_folders(fake, client):
    files = {
        f"{place}/{path}": b for place in ("cpu", "gpu") for path, b in packaged.genai().items()
    }
    files["gpu/extra.json"] = b"{}"
    fake.add("zoo/llm", files)
    with pytest.raises(problems.ComponentMissing, match="these: cpu, gpu"):
        client.genai("zoo/llm")
    with pytest.raises(problems.ComponentMissing, match="these: cpu, gpu"):
        client.genai("zoo/llm", folder="cp")
    folder = client.genai("zoo/llm", folder="cpu/")
    assert folder.name == "cpu"
    assert [path.name for path in folder.parent.iterdir()] == ["cpu"]


@pytest.mark.usefixtures("runtime")
def test_genai_needs_its_config(fake, client):
    fake.add("zoo/ones", make_model())
    with pytest.raises(problems.ComponentMissing, match=r"no genai_config\.json"):
        client.genai("zoo/ones")


def test_genai_says_how_it_is_installed(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime_genai", None)
    with pytest.raises(problems.LibraryMissing, match=r"pip install 'onnx-hub\[genai\]'"):
        client.genai("zoo/llm")


def test_the_runtime_generates_from_the_cache(fake, client):
    genai = pytest.importorskip("onnxruntime_genai")
    fake.add("zoo/llm", decoders.genai())
    model = client.genai("zoo/llm")
    options = genai.GeneratorParams(model)
    options.set_search_options(max_length=12, do_sample=False)
    generator = genai.Generator(model, options)
    generator.append_tokens([5, 6, 7])
    while not generator.is_done():
        generator.generate_next_token()
    assert list(generator.get_sequence(0))[:3] == [5, 6, 7]
    assert len(generator.get_sequence(0)) > 3
