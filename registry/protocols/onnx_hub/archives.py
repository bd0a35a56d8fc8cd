"""A model with its test data as a `tar.gz` that is the same bytes each time it is asked for.

Nothing is kept twice: the archive is written while it is sent. Its gzip stream holds stored blocks
(RFC 1951 section 3.2.4), since weights hardly shrink; so its size is known before a byte is read,
and no release of zlib can change it. Its SHA-256 is worked out once and noted beside the blobs,
under the digest of the list of members; a note that is lost is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import struct
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from registry.core import outbox
from registry.models import File, Variant, Version
from registry.storage.files import store

SUFFIX = ".with-data.tar.gz"
MODEL = "model.onnx"
# The digest of another way of writing archives must be another one.
FORMAT = "tar-stored-1"
BLOCK = 65_535
_SET = re.compile(r"test_data_set_[0-9]{1,5}")
_VALUE = re.compile(r"(input|output)_[0-9]{1,5}\.pb")
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, unknown system


class Stored(NamedTuple):
    """A file of a version: its path, the blob that holds it, and its size in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Archive:
    """What an archive holds: a folder's name, the model, and the files of its data sets."""

    folder: str
    members: tuple[Stored, ...]

    @property
    def key(self) -> str:
        """A name for exactly these bytes, known without reading them."""
        text = json.dumps([FORMAT, self.folder, self.members], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def size(self) -> int:
        """The size of the archive in bytes."""
        inside = sum(512 * (1 + -(-member.size // 512)) for member in self.members)
        inside += sum(len(_head(self.folder, member)) - 512 for member in self.members)
        tar = -(-(inside + 1024) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
        return len(_HEADER) + tar + 5 * -(-tar // BLOCK) + 8

    def sha256(self) -> str | None:
        """The SHA-256 of the archive in hex, where it was worked out before."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            noted = self._note().read_text("ascii")
            if re.fullmatch(r"[0-9a-f]{64}", noted):
                return noted
        return None

    def stream(self) -> Iterator[bytes]:
        """The archive in blocks; reading to its end stores its SHA-256."""
        digest = hashlib.sha256()
        for block in _stored(self._tar()):
            digest.update(block)
            yield block
        self._remember(digest.hexdigest())

    def _tar(self) -> Iterator[bytes]:
        written = 0
        for member in self.members:
            head = _head(self.folder, member)
            yield head
            with store().open(member.sha256) as reader:
                left = member.size
                while left:
                    part = reader.read(min(left, 1 << 20))
                    if not part:
                        raise OSError(
                            f"the blob sha256:{member.sha256} is shorter than its row says"
                        )
                    left -= len(part)
                    yield part
            fill = -member.size % 512
            yield bytes(fill)
            written += len(head) + member.size + fill
        end = written + 1024
        yield bytes(1024 + -end % tarfile.RECORDSIZE)

    def _note(self) -> Path:
        key = self.key
        return store().root / "archives" / key[:2] / key

    def _remember(self, sha256: str) -> None:
        note = self._note()
        # Without the note it is worked out again: nothing is lost but time.
        with contextlib.suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            written = note.with_name(f"{note.name}.{os.urandom(6).hex()}")
            written.write_text(sha256, "ascii")
            written.replace(note)


def _head(folder: str, member: Stored) -> bytes:
    """The tar header of a member, with nothing in it that could differ the next time."""
    info = tarfile.TarInfo(f"{folder}/{member.path}")
    info.size, info.mode = member.size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _stored(parts: Iterable[bytes]) -> Iterator[bytes]:
    """A gzip stream (RFC 1952) of stored blocks, each as long as one can be."""
    yield _HEADER
    crc = length = 0
    waiting = bytearray()
    for part in parts:
        crc = zlib.crc32(part, crc)
        length += len(part)
        waiting += part
        while len(waiting) > BLOCK:
            yield _block(waiting[:BLOCK], is_last=False)
            del waiting[:BLOCK]
    yield _block(waiting, is_last=True)
    yield struct.pack("<II", crc, length & 0xFFFFFFFF)


def _block(content: bytearray, *, is_last: bool) -> bytes:
    return struct.pack("<BHH", is_last, len(content), len(content) ^ 0xFFFF) + content


def data_of(files: Iterable[Stored], entry: str) -> list[Stored]:
    """The files of the data sets beside an entry, by their paths from there on.

    The layout is that of the ONNX backend tests: `test_data_set_N/{input,output}_M.pb`.
    """
    home = PurePosixPath(entry).parent
    members = []
    for file in files:
        place = PurePosixPath(file.path)
        if (
            _VALUE.fullmatch(place.name)
            and _SET.fullmatch(place.parent.name)
            and place.parent.parent == home
        ):
            members.append(file._replace(path=f"{place.parent.name}/{place.name}"))
    return sorted(members)


def archive(name: str, model: Stored, data: list[Stored]) -> Archive:
    """A model and its data sets below a folder of the model's name."""
    return Archive(name, (model._replace(path=MODEL), *data))


def of_version(version: Version) -> dict[str, Archive]:
    """Each archive of a version, by its path there: one for each variant with data beside it."""
    rows = File.objects.filter(version=version, derived=False, blob__erased_at=None)
    rows = rows.filter(path__contains="test_data_set_")
    files = [Stored(*row) for row in rows.values_list("path", "blob_id", "blob__size")]
    if not files:
        return {}
    variants = Variant.objects.filter(version=version, entry__blob__erased_at=None)
    variants = variants.exclude(origin=Variant.Origin.CONVERTED).order_by("pk")
    columns = ("entry__path", "entry__blob_id", "entry__blob__size")
    by_path = {}
    for row in variants.values_list(*columns, "facts__external_files"):
        model = Stored(*row[:3])
        data = data_of(files, model.path)
        if data and not row[3]:
            by_path[model.path + SUFFIX] = archive(version.model.name, model, data)
    return by_path


def connect() -> None:
    """Have the digests of archives worked out as soon as there is something to pack."""
    verbs = ("version.published", "variant.added")
    outbox.subscribe("registry.onnx_hub", verbs, _on_event, apart=True, released=True)


def _on_event(subject: outbox.Subject) -> None:
    version = Version.objects.filter(pk=subject.key, state=Version.State.PUBLISHED).first()
    if version is None:
        return
    for archive in of_version(version).values():
        if archive.sha256() is None:
            for _ in archive.stream():
                pass
