"""Models in a folder, for hubs that no network connects: exported from one, imported into another.

`blobs/<sha256>` are the files, each once; `models/<namespace>/<name>.json` are the records of a
model with its versions, names and evidence, written when their files are there. Both directions
skip what is there already, and go on after an interruption.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub import counting
from hub.client import bundles, config, download
from hub.client.cache import Cache, RemoteFile, sync_folder
from hub.client.hub import Hub
from hub.client.local_files import LocalFile
from hub.client.progress import Bar, say
from hub.protocol import digests, problems, refs
from hub.protocol.mirrors import RELEASED, ModelRecord, VersionRecord, statements

if TYPE_CHECKING:
    from hub.client.rest.mirrors import Import

FORMAT = "onnx-hub-folder/1"
LARGEST_RECORD_BYTES = 256 << 20
POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Holding:
    """A model in a folder: where it was exported, its record, and its versions by number."""

    url: str
    model: ModelRecord
    versions: tuple[VersionRecord, ...]

    @classmethod
    def read(cls, path: Path) -> Holding:
        """Read a record; raises InvalidRequest, PathInvalid, DigestMismatch."""
        try:
            if path.stat().st_size > LARGEST_RECORD_BYTES:
                raise problems.TooLarge(f"{path} has over {LARGEST_RECORD_BYTES} bytes.")
            data = json.loads(path.read_bytes())
            if data["format"] != FORMAT:
                data = {}
            rows = [VersionRecord.read(row) for row in data["versions"]]
            url, model = str(data["url"]), ModelRecord.read(data["model"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise problems.InvalidRequest(
                f"{path} is not the record of an exported model ({error}). Export it again."
            ) from error
        return cls(url, model, tuple(sorted(rows, key=lambda row: row.number)))

    def document(self) -> dict[str, Any]:
        """The record as JSON that ``read`` reads."""
        return {
            "format": FORMAT,
            "url": self.url,
            "model": self.model.document(),
            "versions": [version.document() for version in self.versions],
        }


def export_models(
    hub: Hub, folder: Path, names: list[str], *, progress: bool | None = None
) -> list[Holding]:
    """Write models with every released version into a folder; returns what it holds of them.

    Raises what downloads raise; what is complete in the folder then stays, and the next export
    goes on from there.
    """
    cache = Cache(folder, verify=config.ALWAYS)
    holdings = [_export(hub, cache, name, progress=progress) for name in names]
    # An export is no cache: backup programs and `tar --exclude-caches` must copy it.
    (folder / "CACHEDIR.TAG").unlink(missing_ok=True)
    return holdings


def _export(hub: Hub, cache: Cache, name: str, *, progress: bool | None) -> Holding:
    place = f"/api/v1/models/{quote(name)}"
    model = ModelRecord.read(hub.transport.get(place))
    numbers = sorted(
        version.number for version in hub.versions.list(name) if version.state in RELEASED
    )
    records = []
    for number in numbers:
        at = f"{place}/versions/{number}"
        record = VersionRecord.read(hub.transport.get(at))
        lists = (_items(hub, f"{at}/{kind}") for kind in ("conformance", "evaluations", "variants"))
        records.append(replace(record, statements=statements(*lists)))
    files = {
        file.sha256: RemoteFile(
            file.path,
            file.size,
            file.sha256,
            f"{place}/versions/{record.number}/files/{quote(file.path)}",
        )
        for record in records
        if record.state != "withdrawn"
        for file in record.files
    }
    missing = [file for file in files.values() if cache.find(file.sha256, file.size) is None]
    with Bar(name, sum(file.size for file in missing), is_shown=progress) as bar:
        download.fetch_all(hub.transport, cache, missing, on_bytes=bar.advance)
    say(
        f"{model.ref}: {counting.plural(len(records), 'version')}, "
        f"{counting.plural(len(missing), 'file')} fetched, "
        f"{len(files) - len(missing)} already in the folder",
        is_shown=progress,
    )
    holding = Holding(hub.config.url, model, tuple(records))
    _write(cache.folder / "models" / f"{model.ref}.json", holding.document())
    return holding


def _items(hub: Hub, address: str) -> list[Any]:
    """The items of a list of evidence; none where there is no such list."""
    try:
        content = hub.transport.request("GET", address).json()
    except (problems.NotFound, problems.Withdrawn):
        return []
    rows = content.get("items") if isinstance(content, dict) else content
    return rows if isinstance(rows, list) else []


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".tmp")
    with scratch.open("w", encoding="utf-8") as writer:
        json.dump(content, writer, indent=1, ensure_ascii=False)
        writer.flush()
        os.fsync(writer.fileno())
    scratch.replace(path)
    sync_folder(path.parent)


def holdings(folder: Path) -> Iterator[Holding]:
    """The models of a folder, by name; raises InvalidRequest where it is no export."""
    paths = sorted(folder.glob("models/*/*.json"))
    if not paths:
        raise problems.InvalidRequest(
            f"{folder} holds no exported models. Write one with `hub mirror export`."
        )
    for path in paths:
        holding = Holding.read(path)
        if holding.model.ref != f"{path.parent.name}/{path.stem}":
            raise problems.InvalidRequest(f"{path} is the record of {holding.model.ref}.")
        yield holding


class FolderImport:
    """One exported model on its way into a namespace of a hub."""

    def __init__(
        self, hub: Hub, folder: Path, holding: Holding, into: str, *, progress: bool | None = None
    ) -> None:
        self._hub = hub
        self._folder = folder
        self._holding = holding
        self._into = refs.check_name(into or holding.model.ref.partition("/")[0])
        self._name = holding.model.ref.rpartition("/")[2]
        self._progress = progress

    def run(self) -> list[Import]:
        """Store every version that the hub lacks, wait for the checks, then set the names.

        Raises DigestMismatch for a damaged file, before it is sent.
        """
        results = [
            self._store(record) for record in self._holding.versions if record.state != "withdrawn"
        ]
        results = [self._follow(result) for result in results]
        stored = {result.ref for result in results if result.state == "stored"}
        ref = f"{self._into}/{self._name}"
        present = {row.name: (row.kind, row.number) for row in self._hub.models.read(ref).refs}
        for name in self._holding.model.names:
            is_set = present.get(name.name) == (name.kind, name.number)
            if f"{ref}@{name.number}" in stored and not is_set:
                self._hub.refs.put(ref, name.name, kind=name.kind, version=name.number)  # type: ignore[arg-type]
        for record in self._holding.versions:
            if record.state == "yanked" and f"{ref}@{record.number}" in stored:
                self._yank(ref, record)
        return results

    def _store(self, record: VersionRecord) -> Import:
        result = self._ask(record)
        if result.missing:
            files = {file.sha256: file for file in record.files}
            missing = [files[digests.parse(digest)] for digest in result.missing]
            local = [
                LocalFile(
                    file.path, self._blob(file.sha256, file.size, file.path), file.size, file.sha256
                )
                for file in missing
            ]
            bundles.send(
                self._hub.transport, self._hub.cache, result.ref, local, progress=self._progress
            )
            result = self._ask(record)
        return result

    def _follow(self, result: Import) -> Import:
        records = {
            f"{self._into}/{self._name}@{version.number}": version
            for version in self._holding.versions
        }
        while result.state == "checking":
            self._hub.transport.sleep(POLL_SECONDS)
            result = self._ask(records[result.ref])
        return result

    def _yank(self, ref: str, record: VersionRecord) -> None:
        if self._hub.versions.read(ref, record.number).state == "published":
            reason = f"Yanked at {self._holding.url}: {record.reason or 'no reason stated'}"
            self._hub.versions.yank(ref, record.number, reason=reason, breaks_dependents=True)

    def _blob(self, sha256: str, size: int, path: str) -> Path:
        blob = self._folder / "blobs" / sha256
        if not blob.is_file() or blob.stat().st_size != size or digests.hash_file(blob) != sha256:
            raise problems.DigestMismatch(
                f"{blob} ({path}) is missing or damaged. Copy or export the folder again; what is "
                "sound is not sent twice."
            )
        return blob

    def _ask(self, record: VersionRecord) -> Import:
        return self._hub.mirrors.import_version(
            into=self._into,
            name=self._name,
            url=self._holding.url,
            ref=self._holding.model.ref,
            version=record.document(),
            visibility="public" if self._holding.model.is_open else "private",
        )
