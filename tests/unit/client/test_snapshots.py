from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from hub.client import snapshots
from tests.unit.client.conftest import make_model


@pytest.fixture
def files():
    model = make_model(rows=200_000, location="model.onnx.data")
    return {**model, "test_data_set_0/input_0.pb": b"input", "README.md": b"# Card"}


def test_folder_loads_everywhere_with_external_data(fake, client, files):
    fake.add("zoo/m", files)
    folder = client.download("zoo/m")
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert found == set(files)
    onnx.checker.check_model(folder / "model.onnx")
    onnx.load(folder / "model.onnx")
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    (result,) = session.run(None, {"x": np.ones((1, 200_000), np.float32)})
    assert result.tolist() == [[200_000.0, 200_000.0]]


def test_external_data_has_one_link_and_large_models_share_their_blob(fake, client):
    fake.add("zoo/m", {"model.onnx": b"m" * snapshots.LINK_BYTES, "w.data": b"w" * 2_000_000})
    folder = client.download("zoo/m")
    assert (folder / "w.data").stat().st_nlink == 1
    assert not (folder / "w.data").is_symlink()
    assert (folder / "model.onnx").stat().st_nlink == 2
    assert (folder / "w.data").stat().st_mode & 0o777 == 0o444


def test_large_data_is_on_the_disk_once(fake, client, cache):
    fake.add("zoo/m", {"model.onnx": b"m", "w.data": b"w" * 2_000_000})
    folder = client.download("zoo/m")
    (blob,) = [path for path in cache.blobs.iterdir() if path.is_symlink()]
    assert blob.resolve() == folder / "w.data"
    fake.add("zoo/m", {"model.onnx": b"m2", "w.data": b"w" * 2_000_000})
    fake.requests.clear()
    second = client.download("zoo/m")
    assert fake.count("GET", "blobs") == 1
    assert (second / "w.data").read_bytes() == (folder / "w.data").read_bytes()
    assert {(path / "w.data").stat().st_nlink for path in (folder, second)} == {1}


def test_equal_large_files_have_one_link_each(fake, client):
    fake.add("zoo/m", {"model.onnx": b"m", "a.data": b"w" * 2_000_000, "b.data": b"w" * 2_000_000})
    folder = client.download("zoo/m")
    assert {(folder / name).stat().st_nlink for name in ("a.data", "b.data")} == {1}


@pytest.mark.parametrize("stage", ["blob still linked", "link held elsewhere"])
def test_interrupted_move_is_finished(fake, client, cache, tmp_path, monkeypatch, stage):
    monkeypatch.setattr(snapshots, "RELEASE_SECONDS", 0.02)
    version = fake.add("zoo/m", {"model.onnx": b"m", "w.data": b"w" * 2_000_000})
    folder = client.download("zoo/m")
    blob = cache.blob_path(version["files"][1]["sha256"][7:])
    if stage == "blob still linked":
        blob.unlink()
        blob.hardlink_to(folder / "w.data")
    else:
        (tmp_path / "held").hardlink_to(folder / "w.data")
    assert client.download("zoo/m") == folder
    assert (folder / "w.data").stat().st_nlink == 1
    assert blob.read_bytes() == b"w" * 2_000_000
    assert list(cache.partial.iterdir()) == []


def test_data_of_a_removed_folder_is_fetched_again(fake, client, cache):
    import shutil

    fake.add("zoo/m", {"model.onnx": b"m", "w.data": b"w" * 2_000_000})
    folder = client.download("zoo/m")
    shutil.rmtree(folder)
    assert client.download("zoo/m") == folder
    assert (folder / "w.data").read_bytes() == b"w" * 2_000_000


def test_folder_is_made_once(fake, client, files):
    fake.add("zoo/m", files)
    folder = client.download("zoo/m")
    before = (folder / "README.md").stat().st_ino
    assert client.download("zoo/m") == folder
    assert (folder / "README.md").stat().st_ino == before


@pytest.mark.parametrize("damage", ["shorter", "gone", "link"])
def test_changed_folder_is_made_again(fake, client, files, damage):
    fake.add("zoo/m", files)
    card = client.download("zoo/m") / "README.md"
    card.unlink()
    if damage == "shorter":
        card.write_bytes(b"#")
    elif damage == "link":
        card.symlink_to("/etc/hostname")
    folder = client.download("zoo/m")
    assert (folder / "README.md").read_bytes() == b"# Card"
    assert not (folder / "README.md").is_symlink()
    assert [p.name for p in folder.parent.iterdir() if p.name.startswith(".")] == []


def test_versions_have_folders_of_their_own(fake, client):
    fake.add("zoo/m", {"model.onnx": b"one"})
    fake.add("zoo/m", {"model.onnx": b"two"})
    assert (client.download("zoo/m@1") / "model.onnx").read_bytes() == b"one"
    assert (client.download("zoo/m") / "model.onnx").read_bytes() == b"two"


def test_export_gives_files_of_the_callers_own(fake, client, files, tmp_path):
    fake.add("zoo/m", files)
    target = tmp_path / "mine"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    (target / "README.md").write_text("old")
    assert client.download("zoo/m", to=target) == target
    assert (target / "notes.txt").read_text() == "mine"
    assert (target / "README.md").read_bytes() == b"# Card"
    (target / "model.onnx.data").write_bytes(b"changed by the caller")
    assert client.download("zoo/m") != target
    again = client.download("zoo/m", to=target)
    assert (again / "model.onnx.data").read_bytes() == files["model.onnx.data"]
    assert sorted(p.name for p in target.iterdir() if p.name.startswith(".")) == []


def test_export_replaces_a_link_rather_than_writing_through_it(fake, client, files, tmp_path):
    fake.add("zoo/m", files)
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").symlink_to(precious)
    client.download("zoo/m", to=tmp_path / "mine")
    assert precious.read_text() == "precious"
    assert (tmp_path / "mine" / "README.md").read_bytes() == b"# Card"


def test_copy_without_help_of_the_kernel(tmp_path, monkeypatch):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"x" * 3_000_000)

    def refuse(*_):
        raise OSError("not here")

    monkeypatch.setattr(snapshots.os, "copy_file_range", refuse)
    snapshots.copy(source, target)
    assert target.read_bytes() == source.read_bytes()
