"""`hub get --layout genai`, `optimum` and `ort-package` write folders that these tools load."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from hub.bridges import genai, optimum, ort_package
from hub.cli import command as cli_command
from hub.protocol import problems
from tests import decoders, packaged
from tests.unit.client.conftest import make_model
from tests.unit.client.test_packages import answer


def paths(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def session_of(folder, component):
    """What ONNX Runtime makes of a component of a model package."""
    context = onnxruntime.ModelPackageContext(str(folder))
    options = onnxruntime.ModelPackageOptions(onnxruntime.SessionOptions())
    return context.select_component(component, options).create_session()


def test_genai_gets_its_config_at_the_top(fake, client, tmp_path):
    files = {f"cpu/int4/{path}": content for path, content in decoders.genai().items()}
    fake.add("zoo/llm", files | {"README.txt": b"notes"})
    folder = genai.write(client, "zoo/llm", tmp_path / "llm")
    assert paths(folder) == set(decoders.genai())
    runtime = pytest.importorskip("onnxruntime_genai")
    runtime.Model(str(folder))


def test_several_configs_keep_their_folders(fake, client, tmp_path):
    files = {
        f"{place}/{path}": content
        for place in ("cpu", "gpu")
        for path, content in packaged.genai().items()
    }
    fake.add("zoo/llm", files)
    assert paths(genai.write(client, "zoo/llm", tmp_path / "llm")) == set(files)


def test_what_is_no_package_of_genai_is_refused(fake, client, tmp_path):
    fake.add("zoo/ones", make_model())
    with pytest.raises(problems.ComponentMissing, match=r"no genai_config\.json"):
        genai.write(client, "zoo/ones", tmp_path / "ones")


def test_optimum_gets_models_in_their_folder(fake, client, tmp_path):
    fake.add("zoo/t5", packaged.optimum())
    assert paths(optimum.write(client, "zoo/t5", tmp_path / "t5")) == set(packaged.optimum())
    files = make_model(rows=50, location="weights.bin")
    files |= {"config.json": b"{}", "tokenizer.json": b"{}", "other.onnx": files["model.onnx"]}
    fake.add("zoo/ones", files, entry="model.onnx")
    folder = optimum.write(client, "zoo/ones", tmp_path / "ones")
    wanted = {"config.json", "tokenizer.json", "onnx/model.onnx", "onnx/weights.bin"}
    assert paths(folder) == wanted
    onnxruntime.InferenceSession(folder / "onnx/model.onnx", providers=["CPUExecutionProvider"])


def test_optimum_needs_a_config(fake, client, tmp_path):
    fake.add("zoo/ones", make_model())
    with pytest.raises(problems.InvalidRequest, match=r"no config\.json"):
        optimum.write(client, "zoo/ones", tmp_path / "ones")


def test_a_single_model_is_a_package_of_one_component(fake, client, tmp_path):
    fake.add("zoo/ones", make_model(rows=50, location="weights.bin") | {"notes.txt": b"notes"})
    folder = ort_package.write(client, "zoo/ones", tmp_path / "ones")
    wanted = {"manifest.json", "notes.txt"}
    wanted |= {f"model/cpu/{name}" for name in ("model.onnx", "weights.bin")}
    assert paths(folder) == wanted
    session = session_of(folder, "model")
    [port] = session.get_inputs()
    values = np.zeros([size if isinstance(size, int) else 1 for size in port.shape], np.float32)
    assert session.run(None, {port.name: values})


@pytest.fixture
def parts(fake):
    """A version with two components and a tokenizer."""
    files = {f"{name}/model.onnx": packaged.passing("x", name, [1]) for name in ("text", "unet")}
    fake.add("zoo/pipeline", files | {"tokenizer/vocab.json": b"{}"}, entry="text/model.onnx")
    rows = [(name, "other", f"{name}/model.onnx") for name in ("text", "unet")]
    fake.packages.append(answer(*rows, ("tokenizer", "tokenizer", "")))


@pytest.mark.usefixtures("parts")
def test_each_component_of_a_package_is_one_there(client, tmp_path):
    folder = ort_package.write(client, "zoo/pipeline", tmp_path / "pipeline")
    wanted = {"manifest.json", "tokenizer/vocab.json"}
    assert paths(folder) == wanted | {f"{n}/cpu/model.onnx" for n in ("text", "unet")}
    for name in ("text", "unet"):
        assert [port.name for port in session_of(folder, name).get_outputs()] == [name]
    with pytest.raises(problems.InvalidRequest, match="no variants in common"):
        ort_package.write(client, "zoo/pipeline:main", tmp_path / "other")


def test_a_manifest_is_kept(fake, client, tmp_path):
    fake.add("zoo/packed", packaged.ort_package(), entry="decoder/cpu/model.onnx")
    folder = ort_package.write(client, "zoo/packed", tmp_path / "packed")
    assert paths(folder) == set(packaged.ort_package())
    assert (folder / "manifest.json").read_bytes() == packaged.ort_package()["manifest.json"]


@pytest.mark.usefixtures("default", "parts")
def test_the_command_writes_a_layout(tmp_path, capsys):
    target = tmp_path / "written"
    words = ["get", "zoo/pipeline", "--layout", "ort-package", "--to", str(target)]
    assert cli_command.main(words) == 0
    assert capsys.readouterr().out.strip() == str(target)
    assert (target / "manifest.json").exists()
    assert cli_command.main(words[:4]) == 2
    assert cli_command.main([*words, "--max-batch-size", "8"]) == 2
    assert "--layout ort-package takes no --max-batch-size" in capsys.readouterr().err
