"""Models and files in memory, pushed without a folder."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest
from google.protobuf.message import EncodeError

from hub.client import memory_files
from hub.protocol import problems
from tests.unit.client.conftest import make_model

CARD = "---\nlicense: apache-2.0\n---\n# Ones\n"
MODEL = make_model()["model.onnx"]


def model_in_memory(**options):
    return onnx.load_from_string(make_model(**options)["model.onnx"])


def stored(fake, name="ada/ones"):
    [version] = fake.versions[name]
    return {file["path"]: fake.blobs[file["sha256"][7:]] for file in version["files"]}


def test_a_model_is_a_file(fake, client):
    version = client.push(model_in_memory(), name="ada/ones", card=CARD)
    assert (version["ref"], version["state"]) == ("ada/ones@1", "published")
    assert stored(fake)["model.onnx"] == MODEL


def test_files_by_their_paths_with_a_card_among_them(fake, client):
    files = {"deep/model.onnx": MODEL, "notes.txt": b"notes", "README.md": CARD.encode()}
    client.push(files, name="ada/ones")
    paths = set(stored(fake)) - {"README.md"}
    assert paths == {"deep/model.onnx", "notes.txt"}
    assert fake.versions["ada/ones"][0]["card"] == CARD


def test_the_name_may_come_first_and_folders_beside(fake, client, tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"notes")
    client.push("ada/ones", model_in_memory(), tmp_path / "notes.txt")
    assert stored(fake) == {"model.onnx": MODEL, "notes.txt": b"notes"}


def test_a_path_may_have_its_name_behind(fake, client, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MODEL)
    client.push(path, name="ada/ones")
    assert stored(fake) == {"model.onnx": MODEL}


def test_the_same_content_makes_no_second_version(fake, client, tmp_path):
    client.push(model_in_memory(), name="ada/ones", card=CARD)
    path = tmp_path / "model.onnx"
    path.write_bytes(MODEL)
    assert client.push("ada/ones", path, card=CARD)["number"] == 1


def test_external_data_must_be_among_the_files(fake, client):
    model, data = model_in_memory(location="w.bin"), make_model(location="w.bin")["w.bin"]
    with pytest.raises(problems.ModelMissing, match=r"not given: deep/w\.bin"):
        client.push({"deep/model.onnx": model, "w.bin": data}, name="ada/ones")
    assert fake.requests == []
    client.push({"deep/model.onnx": model, "deep/w.bin": data}, name="ada/ones")
    assert stored(fake)["deep/w.bin"] == data


@pytest.mark.parametrize("error", [EncodeError("Failed to serialize proto"), ValueError("2GB")])
def test_a_model_that_no_file_can_hold(client, fake, monkeypatch, error):
    class Large:
        DESCRIPTOR = onnx.ModelProto.DESCRIPTOR

        def SerializeToString(self):  # noqa: N802
            raise error

    with pytest.raises(problems.TooLarge, match="save_as_external_data=True"):
        client.push(Large(), name="ada/ones")
    monkeypatch.setattr(memory_files, "LARGEST_BYTES", len(MODEL) - 1)
    with pytest.raises(problems.TooLarge, match="2 GB at most"):
        client.push(model_in_memory(), name="ada/ones")
    assert fake.requests == []


def test_what_is_neither_is_refused_with_the_cure(client, fake):
    with pytest.raises(problems.InvalidReference, match=r"hub\.push\(ModelProto, name="):
        client.push(model_in_memory())
    with pytest.raises(problems.InvalidRequest, match="list cannot be pushed"):
        client.push([MODEL], name="ada/ones")
    with pytest.raises(problems.InvalidRequest, match=r"'model\.onnx' is of type str"):
        client.push({"model.onnx": "text"}, name="ada/ones")
    with pytest.raises(problems.InvalidRequest, match="occurs twice"):
        client.push("ada/ones", model_in_memory(), {"model.onnx": MODEL})
    with pytest.raises(problems.PathInvalid):
        client.push({"../model.onnx": MODEL}, name="ada/ones")
    assert fake.requests == []


def test_bytes_are_pushed_without_onnx(fake, default, tmp_path):
    code = (
        "import sys, hub\n"
        "sys.modules['onnx'] = sys.modules['google'] = None\n"
        "hub.push({'model.onnx': b'\\x08\\x08:\\0'}, name='ada/ones', progress=False)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert stored(fake) == {"model.onnx": b"\x08\x08:\0"}
