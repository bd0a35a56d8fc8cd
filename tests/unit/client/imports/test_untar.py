"""Archives of strangers: what is unpacked, and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from hub.client import archives
from hub.protocol import problems


def pack(path, *members):
    """An archive of (name, content) and of ready members."""
    with tarfile.open(path, "w:gz") as writer:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                writer.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            info.size = len(content)
            writer.addfile(info, io.BytesIO(content))
    return path


def special(name, kind, target="x"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.fixture
def packed(tmp_path):
    return tmp_path / "a.tar.gz"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "out"
    made.mkdir()
    return made


def test_files_are_unpacked_in_order(packed, folder):
    pack(packed, special("net", tarfile.DIRTYPE), ("./net/b", b"1"), ("net/deep/a", b""))
    assert archives.extract(packed, folder) == ["net/b", "net/deep/a"]
    assert (folder / "net" / "b").read_bytes() == b"1"
    assert archives.extract(packed, folder) == ["net/b", "net/deep/a"]


def test_only_what_is_chosen_is_written(packed, folder):
    pack(packed, ("net/model.onnx", b"1"), ("net/test_data_set_0/input_0.pb", b"2"))
    written = archives.extract(
        packed, folder, choose=lambda path: "kept" if path.endswith(".pb") else None
    )
    assert written == ["kept"]
    assert [path.name for path in folder.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (("/etc/passwd", b"x"), "points outside"),
        (("net/../../x", b"x"), "points outside"),
        (("C:/x", b"x"), "points outside"),
        (("net\\x", b"x"), "points outside"),
        (special("net/link", tarfile.SYMTYPE, "/etc/passwd"), "link or a device"),
        (special("net/hard", tarfile.LNKTYPE, "net/model.onnx"), "link or a device"),
        (special("net/pipe", tarfile.FIFOTYPE), "link or a device"),
        (special("../out", tarfile.DIRTYPE), "points outside"),
        (("net/\u202eb", b"x"), "path"),
    ],
)
def test_what_could_lead_elsewhere_refuses_the_archive(packed, folder, tmp_path, member, words):
    pack(packed, ("net/model.onnx", b"1"), member)
    with pytest.raises(problems.HubError, match=words):
        archives.extract(packed, folder, choose=lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "out"]


def test_the_same_path_twice_is_refused(packed, folder):
    pack(packed, ("net/a", b"1"), ("net/a", b"2"))
    with pytest.raises(problems.HubError, match="twice"):
        archives.extract(packed, folder)


def test_limits_hold_before_anything_large_is_written(packed, folder):
    info = tarfile.TarInfo("net/huge")
    info.size = 1 << 40
    packed.write_bytes(gzip.compress(info.tobuf() + b"\0" * 2048))
    with pytest.raises(problems.HubError, match="more than"):
        archives.extract(packed, folder)
    assert list(folder.iterdir()) == []
    pack(packed, ("a", b""), ("b", b""))
    with pytest.raises(problems.HubError, match="more than 1 files"):
        archives.extract(packed, folder, limits=archives.Limits(members=1))


@pytest.mark.parametrize("damage", [lambda raw: raw[:-40], lambda raw: b"PK" + raw, lambda _: b""])
def test_damage_is_told(packed, folder, damage):
    pack(packed, ("net/a", bytes(5000)), ("net/b", b"2"))
    packed.write_bytes(damage(packed.read_bytes()))
    with pytest.raises(problems.HubError, match=r"cannot be read|ends too early"):
        archives.extract(packed, folder)
