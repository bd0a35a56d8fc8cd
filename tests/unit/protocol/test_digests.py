from __future__ import annotations

import hashlib
import io

import pytest

from hub.protocol import digests, manifests, problems

HEX = hashlib.sha256(b"abc").hexdigest()


def test_digest_text():
    assert digests.parse(f"sha256:{HEX}") == HEX
    assert digests.format(HEX) == f"sha256:{HEX}"


@pytest.mark.parametrize(
    "text", ["", HEX, f"md5:{HEX}", f"sha256:{HEX.upper()}", f"sha256:{HEX}0", None]
)
def test_what_is_no_digest(text):
    with pytest.raises(problems.InvalidRequest, match="64 lower-case hex digits"):
        digests.parse(text)


def test_copy_and_hash_by_parts():
    class Slow(io.RawIOBase):
        """Takes at most seven bytes at once, as raw files may."""

        def __init__(self):
            self.got = b""

        def write(self, data):
            self.got += bytes(data[:7])
            return min(7, len(data))

    content = bytes(range(256)) * 20
    writer = Slow()
    assert digests.copy_and_hash(io.BytesIO(content), writer) == (
        hashlib.sha256(content).hexdigest(),
        len(content),
    )
    assert writer.got == content


def test_hash_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc" * 1_000_000)
    assert digests.hash_file(path) == hashlib.sha256(b"abc" * 1_000_000).hexdigest()
    path.write_bytes(b"")
    assert digests.hash_file(path) == hashlib.sha256().hexdigest()


def test_manifest_is_the_digest_of_sorted_lines():
    entries = [("model.onnx", HEX, 3), ("a/b.pb", HEX, 4)]
    text = f"a/b.pb\t{HEX}\t4\nmodel.onnx\t{HEX}\t3\n".encode()
    assert manifests.lines(entries) == text
    assert manifests.digest(entries) == hashlib.sha256(text).hexdigest()
    assert manifests.digest([]) == hashlib.sha256().hexdigest()


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([("a\tb", HEX, 1)], problems.PathInvalid),
        ([("a", HEX, 1), ("a", HEX, 1)], problems.InvalidRequest),
        ([("a", "abc", 1)], problems.InvalidRequest),
        ([("a", HEX, -1)], problems.InvalidRequest),
    ],
)
def test_manifest_refuses(entries, kind):
    with pytest.raises(kind):
        manifests.digest(entries)
