"""`hub://` paths, as fsspec, pandas and Dask read them from a hub of real processes."""

from __future__ import annotations

import hashlib
import io
import pickle

import fsspec
import pytest

from tests.integration.bridges.conftest import CONTENTS, CSV, bridge

WEIGHTS = CONTENTS["weights.bin"]
USES = """
import pandas, dask.dataframe, fsspec
frame = pandas.read_csv("hub://datasets/stones@1/test.csv")
assert list(frame["kind"]) == ["granite", "basalt"], frame
parts = dask.dataframe.read_csv("hub://datasets/stones@1/*.csv")
assert parts["weight"].sum().compute() == 4.0
with fsspec.open("hub://zoo/net@champion/deep/notes.txt", "rt") as file:
    assert file.read() == "notes\\n"
"""


@pytest.fixture
def files(hub, tmp_path):
    return fsspec.filesystem(
        "hub", url=hub.address, cache=tmp_path / "cache", skip_instance_cache=True
    )


def test_paths_are_listed_with_their_digests(files):
    assert files.ls("hub://zoo/net@1", detail=False) == [
        *("zoo/net@1/README.md", "zoo/net@1/deep", "zoo/net@1/model.onnx", "zoo/net@1/weights.bin"),
    ]
    assert files.info("hub://zoo/net@champion/weights.bin") == {
        "name": "zoo/net@champion/weights.bin",
        "size": len(WEIGHTS),
        "type": "file",
        "sha256": hashlib.sha256(WEIGHTS).hexdigest(),
    }
    assert files.glob("hub://zoo/net@1/**/*.txt") == ["zoo/net@1/deep/notes.txt"]
    assert files.find("zoo/net/deep") == ["zoo/net/deep/notes.txt"]
    assert files.isdir("zoo/net@1/deep")
    assert "zoo/net" in files.ls("zoo", detail=False)
    assert files.ls("", detail=False) == ["datasets", "zoo"]
    assert files.ls("datasets", detail=False) == ["datasets/stones"]
    assert files.ukey("datasets/stones/test.csv") == hashlib.sha256(CSV).hexdigest()
    assert files.exists("zoo/net@1/model.onnx")
    assert not files.exists("zoo/net@1/modell.onnx")


def test_a_large_file_is_read_in_ranges(files):
    with files.open("zoo/net@1/weights.bin", block_size=2**16) as file:
        file.seek(1_000_000)
        assert file.read(300_000) == WEIGHTS[1_000_000:1_300_000]
        assert file.seek(-10, io.SEEK_END) == len(WEIGHTS) - 10
        assert file.read() == WEIGHTS[-10:]
    assert files.cat_file("zoo/net@1/weights.bin", -3) == WEIGHTS[-3:]
    assert files.cat_file("zoo/net@1/weights.bin", 5, 5) == b""
    digest = files.info("zoo/net@1/weights.bin")["sha256"]
    assert files.hub.cache.find(digest, len(WEIGHTS)) is None
    assert files.cat("zoo/net@1/weights.bin") == WEIGHTS
    assert files.hub.cache.find(digest, len(WEIGHTS)) is not None
    with files.open("zoo/net@1/weights.bin") as file:
        assert file.read() == WEIGHTS


def test_folders_are_copied_and_filesystems_pickled(files, tmp_path):
    files = pickle.loads(pickle.dumps(files))  # noqa: S301 - our own
    files.get("zoo/net@1", str(tmp_path / "net"), recursive=True)
    for path, content in CONTENTS.items():
        assert (tmp_path / "net" / path).read_bytes() == content


def test_errors_are_those_of_files(hub, files, tmp_path):
    with pytest.raises(FileNotFoundError, match="not found"):
        files.ls("zoo/nothing@1")
    with pytest.raises(FileNotFoundError):
        files.open("zoo/net@1/nothing")
    with pytest.raises(FileNotFoundError, match="not found"):
        files.open("zoo/hidden@1/model.onnx")
    with pytest.raises(IsADirectoryError):
        files.open("zoo/net@1/deep")
    with pytest.raises(io.UnsupportedOperation, match="hub push"):
        files.open("zoo/net@1/new.txt", "wb")
    reader = fsspec.filesystem("hub", url=hub.address, token=hub.token, cache=tmp_path / "other")
    assert reader.cat("zoo/hidden@1/model.onnx") == CONTENTS["model.onnx"]


def test_pandas_and_dask_read_by_path(run):
    run(bridge("fsspec", "fsspec", "pandas", "dask[dataframe]"), "-c", USES)
