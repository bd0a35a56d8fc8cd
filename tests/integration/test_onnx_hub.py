"""Real onnx 1.20.1 and the import of a zoo, against real hubs with their workers.

`HUB_TEST_CLIENTS` names a folder in which old onnx has, or gets, an environment of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests import samples
from tests.faults.conftest import ROOT, Hub, wait_for

HERE = Path(__file__).parent
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LIMITS = {"HUB_LIMITS_STAGE_SECONDS": "120", "HUB_LIMITS_LEASE_SECONDS": "120"}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    made = Hub(tmp_path_factory.mktemp("onnx-hub") / "home", **LIMITS)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """Another hub, with nothing in it."""
    made = Hub(tmp_path_factory.mktemp("second") / "home", **LIMITS)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def old_onnx():
    """The interpreter of an environment with onnx 1.20.1, the last release with `onnx.hub`."""
    found = os.environ.get("HUB_TEST_CLIENTS")
    if not found:
        pytest.skip("HUB_TEST_CLIENTS names no folder for the clients' environments")
    place = Path(found) / "onnx-1.20.1"
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "onnx==1.20.1"]
        subprocess.run(install, check=True)
    return python


def net():
    """4 -> 3 at opset 17, and the same at opset 13: its operators are in both."""
    newer, older = samples.mlp_proto(), samples.mlp_proto()
    older.opset_import[0].version = 13
    return newer, older


def scale():
    one, two = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])
        for name in ("raw", "scaled")
    )
    node = helper.make_node("Sigmoid", ["raw"], ["scaled"])
    graph = helper.make_graph([node], "scale", [one], [two])
    imports = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


class Zoo:
    """A folder like the Model Zoo's, with its manifest."""

    def __init__(self, folder):
        self.folder = folder
        self.entries = []
        (folder / "models").mkdir(parents=True)

    def add(self, model, opset, content, *, data=None, tags=("vision", "classification")):
        path = f"models/{model}-{opset}.onnx"
        (self.folder / path).write_bytes(content)
        told = {"model_sha": hashlib.sha256(content).hexdigest(), "tags": list(tags)}
        if data:
            packed = self.folder / f"models/{model}-{opset}.tar.gz"
            with tarfile.open(packed, "w:gz") as writer:
                for name, raw in data.items():
                    member = self.folder / "member"
                    member.write_bytes(raw)
                    writer.add(member, f"{model}/{name}")
                    member.unlink()
            told |= {
                "model_with_data_path": packed.relative_to(self.folder).as_posix(),
                "model_with_data_sha": hashlib.sha256(packed.read_bytes()).hexdigest(),
            }
        self.entries.append(
            {"model": model, "model_path": path, "onnx_version": "1", "opset_version": opset,
             "metadata": told}
        )  # fmt: skip

    @property
    def manifest(self):
        path = self.folder / "ONNX_HUB_MANIFEST.json"
        path.write_text(json.dumps(self.entries))
        return path


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """onnx's own light models, a model of two opsets with data, and what can be wrong."""
    made = Zoo(tmp_path_factory.mktemp("zoo"))
    for name in ("squeezenet", "shufflenet"):
        content = (LIGHT / f"light_{name}.onnx").read_bytes()
        opset = next(one.version for one in onnx.load_from_string(content).opset_import)
        made.add(name, opset, content)
    x = np.random.default_rng(0).random((2, 4), np.float32)
    for proto in net():
        from onnx.reference import ReferenceEvaluator

        (y,) = ReferenceEvaluator(proto).run(None, {"x": x})
        data = {
            "test_data_set_0/input_0.pb": numpy_helper.from_array(x, "x").SerializeToString(),
            "test_data_set_0/output_0.pb": numpy_helper.from_array(y, "y").SerializeToString(),
        }
        made.add("Net", proto.opset_import[0].version, proto.SerializeToString(),
                 data=data, tags=["for-tags"])  # fmt: skip
    made.add("Net", 11, b"\x08\x08 this ends in the middle")
    made.add("Scale", 13, scale().SerializeToString(), tags=["preprocessing"])
    made.add("Absent", 9, POINTER)
    return made


def run_import(to, home, *arguments):
    """Run the command as a person does."""
    given = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
    given |= {
        "HUB_URL": to.address, "HUB_TOKEN": to.token, "HUB_CACHE": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    command = [sys.executable, "-m", "hub", "import", "zoo", *map(str, arguments), "--quiet"]
    return subprocess.run(
        command, env=given, cwd=home, check=False, capture_output=True, text=True, timeout=300
    )


def files(of, name, number=1):
    version = of.call("GET", f"models/zoo/{name}/versions/{number}")[2]
    return {file["path"]: file["sha256"] for file in version["files"] if not file["derived"]}


@pytest.fixture(scope="module")
def imported(hub, zoo, tmp_path_factory):
    """The zoo in the hub, with what the command said."""
    done = run_import(
        hub, tmp_path_factory.mktemp("import"), zoo.manifest, "--license", "apache-2.0"
    )
    hub.call("PUT", "models/zoo/net/refs/champion", {"kind": "alias", "version": 2})
    return done


def manifest(of, repo="onnx/models", ref="main"):
    status, headers, body = of.call("GET", f"/onnx-hub/{repo}/{ref}/ONNX_HUB_MANIFEST.json")
    assert status == 200, body
    return body, headers


def test_a_zoo_is_imported_and_what_is_wrong_is_told(hub, zoo, imported, tmp_path):
    assert imported.returncode == 1, imported.stdout + imported.stderr
    lines = imported.stdout.splitlines()
    words = {line.split()[1]: line.split()[0] for line in lines[:-1]}
    assert words == {
        "zoo/squeezenet": "imported", "zoo/shufflenet": "imported", "zoo/net": "imported",
        "zoo/scale": "imported", "zoo/absent": "failed",
    }, imported.stdout + imported.stderr  # fmt: skip
    assert "opset 17, 13; 2 data sets" in imported.stdout
    assert "zoo/absent: opset 9: models/Absent-9.onnx is a Git LFS pointer" in imported.stderr
    assert "zoo/net: models/Net-11.onnx: " in imported.stderr
    number = hub.call("GET", "models/zoo/net")[2]["latest"]["number"]
    by_path = files(hub, "net", number)
    digests = {entry["model_path"]: entry["metadata"]["model_sha"] for entry in zoo.entries}
    assert by_path["model.onnx"] == f"sha256:{digests['models/Net-17.onnx']}"
    assert by_path["opset13/model.onnx"] == f"sha256:{digests['models/Net-13.onnx']}"
    assert {path for path in by_path if "test_data" in path} == {
        "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb",
        "opset13/test_data_set_0/input_0.pb", "opset13/test_data_set_0/output_0.pb",
    }  # fmt: skip
    model = hub.call("GET", "models/zoo/squeezenet")[2]
    assert (model["license"], model["task"]) == ("apache-2.0", "image-classification")
    assert hub.call("GET", "models/zoo/absent")[0] == 404
    again = run_import(hub, tmp_path, zoo.manifest)
    assert "present   zoo/net" in again.stdout, again.stdout + again.stderr
    assert "imported" not in again.stdout
    assert hub.call("GET", "models/zoo/net")[2]["latest"]["number"] == number


def test_old_onnx_loads_from_the_hub_unchanged(hub, imported, old_onnx, tmp_path):
    assert imported.stdout
    given = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
    given |= {"HUB_URL": hub.address, "PYTHONPATH": str(ROOT), "ONNX_HOME": str(tmp_path)}
    wait_for(
        lambda: all(
            entry["metadata"].get("model_with_data_sha", "")
            for entry in manifest(hub, "zoo/net")[0]
            if "model_with_data_path" in entry["metadata"]
        ),
        "the digests of the archives",
        60,
    )
    script = HERE / "clients" / "old_onnx_hub.py"
    done = subprocess.run(
        [old_onnx, script], env=given, cwd=tmp_path, check=False, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    number = hub.call("GET", "models/zoo/net")[2]["latest"]["number"]
    (by_alias,) = said.pop("by alias")
    assert by_alias.startswith(f"zoo/net@{number}/")
    assert said.pop("names")[:2] == ["net", "scale"]
    assert said == {
        "version": "1.20.1", "same arguments": True, "same folder": True, "by tag": ["net"],
        "newest known": True, "opsets": [13, 17], "ports": True, "loaded": 13, "cached": True,
        "newest loads": True, "loads by alias": True, "same model": True, "data": [2, 4],
        "archive has a digest": True, "composite": ["raw", said["composite"][1]], "missing": True,
        "private": False,
    }  # fmt: skip


def test_another_hub_imports_from_the_manifest_of_the_first(hub, second, imported, tmp_path):
    assert imported.stdout
    address = f"{hub.address}/onnx-hub/zoo/models/main/ONNX_HUB_MANIFEST.json"
    wanted = ("--only", "net", "--only", "squeezenet")
    # Read first: what the workers of the first hub derive meanwhile may be imported or not.
    entries = [entry for entry in manifest(hub)[0] if entry["model"] == "net"]
    assert len(entries) >= 2
    done = run_import(second, tmp_path, address, *wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    there = files(second, "net")
    assert {f"sha256:{entry['metadata']['model_sha']}" for entry in entries} <= set(there.values())
    models = [path for path in there if path.endswith(".onnx")]
    assert sum("test_data_set_0/input_0.pb" in path for path in there) == len(models)
    model = second.call("GET", "models/zoo/net")[2]
    assert model["license"] == "apache-2.0"
    # What workers of the first hub derived meanwhile is new once; then everything is there.
    wait_for(
        lambda: run_import(second, tmp_path, address, "--only", "squeezenet").stdout.startswith(
            "present   zoo/squeezenet"
        ),
        "an import that brings nothing",
        60,
    )


def test_a_manifest_that_is_known_is_not_sent_again(hub, imported):
    assert imported.stdout
    _, headers = manifest(hub)
    status, _, body = hub.call(
        "GET", "/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json", If_None_Match=headers["ETag"]
    )
    assert (status, body) in ((304, b""), (200, body))
