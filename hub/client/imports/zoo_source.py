"""Where a Model Zoo lies: its manifest and its files, in a folder or at an address.

What is fetched goes to a scratch folder; what lies in a folder is read where it lies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from hub.client import config as settings
from hub.client import download
from hub.client.transport import Transport
from hub.protocol import digests, problems

LARGEST_MANIFEST_BYTES = 64 << 20
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024
_RAW, _MEDIA = "https://raw.githubusercontent.com/", "https://media.githubusercontent.com/media/"


def hub_name(text: str) -> str:
    """Return the name that a model of the Model Zoo has on a hub: `VGG 16-bn` is `vgg-16-bn`."""
    word = re.sub(r"[^a-z0-9._]+", "-", text.lower())
    return re.sub(r"\.{2,}", ".", word).strip("-._")[:96].strip("-._").removesuffix(".git")


class Missing(problems.HubError):
    """A file of the manifest is not there, or is only a git-LFS pointer to what is not there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model at one opset, as a manifest has it; digests in hex, `None` where it has none."""

    model: str
    path: str
    opset: int
    sha256: str | None
    data_path: str | None
    data_sha256: str | None
    tags: tuple[str, ...]
    license: str
    task: str
    is_private: bool = False
    size: int = 0
    """How many bytes are to be fetched, as far as the manifest says."""

    @classmethod
    def read(cls, raw: Any) -> Entry:
        """Take an entry of a manifest; raise `InvalidRequest` saying what is wrong with it."""
        try:
            metadata = raw["metadata"]
            hub = metadata.get("hub") or {}
            return cls(
                model=_words(raw["model"]),
                path=_words(raw["model_path"]),
                opset=int(raw["opset_version"]),
                sha256=_digest(metadata.get("model_sha")),
                data_path=metadata.get("model_with_data_path") or None,
                data_sha256=_digest(metadata.get("model_with_data_sha")),
                tags=tuple(str(tag) for tag in metadata.get("tags") or ()),
                license=str(hub.get("license") or metadata.get("license") or ""),
                task=str(hub.get("task") or ""),
                is_private=bool(hub.get("private")),
                size=sum(
                    int(metadata.get(f"{what}_bytes") or 0) for what in ("model", "model_with_data")
                ),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise problems.InvalidRequest(
                f"An entry of the manifest has no {error}: {str(raw)[:120]}"
                if isinstance(error, KeyError)
                else f"An entry of the manifest is not one ({error}): {str(raw)[:120]}"
            ) from None


@dataclass(slots=True)
class ZooFile:
    """One opset of a model that is here: its place in the version, its file, its test data."""

    entry: Entry
    source: Path
    sha256: str
    size: int
    data: dict[str, Path] = field(default_factory=dict)
    data_sha256: str = ""
    folder: str = ""

    @property
    def path(self) -> str:
        return f"{self.folder}model.onnx"


class Source:
    """The files of a zoo, by their paths in its manifest."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/") if is_address(place) else place
        self._transport = _transport(place) if is_address(place) else None

    def bring(self, path: str, scratch: Path, on_bytes: Callable[[int], None]) -> Path:
        """Return a file that is here; raise `Missing`, or `Unreachable` when a transfer fails."""
        _check_inside(path)
        if self._transport is None:
            return _inside(self.place, path)
        target = scratch / digests.hash_bytes(path.encode())
        address = f"{self.place}/{quote(path, safe='/%@:')}"
        try:
            download.write_file(self._transport, address, target, on_bytes)
        except problems.NotFound:
            raise Missing(f"{path} is not at {self.place}") from None
        return _real(target, path)


def read_manifest(place: str) -> list[Any]:
    """Return the entries of a manifest, at an address or in a file; raise `HubError`."""
    try:
        if is_address(place):
            entries = _transport(place).request("GET", place).json()
        else:
            with Path(place).open("rb") as reader:
                entries = json.loads(reader.read(LARGEST_MANIFEST_BYTES + 1))
    except (OSError, ValueError) as error:
        raise problems.InvalidRequest(f"{place} cannot be read as a manifest: {error}") from None
    if not isinstance(entries, list):
        raise problems.InvalidRequest(f"{place} is not a manifest: it contains no list of models.")
    return entries


def files_of(manifest: str) -> str:
    """Return the default place of a manifest's files, which its own address implies."""
    if not is_address(manifest):
        return str(Path(manifest).parent)
    folder = manifest.rpartition("/")[0]
    if folder.startswith(_RAW):
        return _MEDIA + folder.removeprefix(_RAW)
    head, separator, rest = folder.partition("/onnx-hub/")
    return f"{head}/onnx-hub/media/{rest}" if separator else folder


def is_address(place: str) -> bool:
    """Say whether a place is on the network, not in a folder."""
    return place.startswith(("http://", "https://"))


def _transport(address: str) -> Transport:
    """The way to a server, with the token for it if there is one."""
    parts = urlsplit(address)
    return Transport(settings.Config.from_environment(url=f"{parts.scheme}://{parts.netloc}"))


def _check_inside(path: str) -> None:
    if path.startswith("/") or "\\" in path or ".." in path.split("/"):
        raise problems.PathInvalid(f"{path[:120]!r} points outside the zoo's folder.")


def _inside(place: str, path: str) -> Path:
    folder = Path(place).resolve()
    for name in (path, unquote(path)):
        _check_inside(name)
        file = (folder / name).resolve()
        # A link may lead elsewhere in the zoo, not elsewhere on this machine.
        if file.is_file() and file.is_relative_to(folder):
            return _real(file, path)
    raise Missing(f"{path} is not in {place}")


def _real(file: Path, path: str) -> Path:
    """The file, unless it is what git has in place of one that git-LFS has not fetched."""
    if file.stat().st_size <= _POINTER_BYTES and file.read_bytes().startswith(_POINTER):
        raise Missing(f"{path} is a Git LFS pointer; run `git lfs pull` to get the file")
    return file


def _words(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not text")
    return value


def _digest(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if not digests.is_hex(str(value).lower()):
        raise ValueError(f"{str(value)[:80]!r} is not a SHA-256 digest")
    return str(value).lower()
