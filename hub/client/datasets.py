"""Data sets of a hub from this machine: publish and download versions, read and list entries.

A version, and with the first one its entry, is published in one step after its files were uploaded.
Nothing is visible before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hub import counting
from hub.client import catalogue
from hub.client.cache import RemoteFile
from hub.client.hub import Hub
from hub.client.progress import say
from hub.protocol import problems
from hub.protocol import splits as protocol

if TYPE_CHECKING:
    from hub.client.local_files import Selected

PAGE = 100
ADDRESS = "/api/v1/datasets"
# Where the splits of a folder lie when they are not named; none of them is a file of the version.
SPLIT_FILES = ("splits.yaml", "splits.yml", "splits.json")


def push(
    hub: Hub,
    name: str,
    path: str | os.PathLike[str],
    *,
    splits: str | os.PathLike[str] | Sequence[dict[str, Any]] | None = None,
    message: str = "",
    namespace: str | None = None,
    follow_links: bool = False,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Publish a file or a folder as the next version of a data set; return that version.

    `splits` are a list as docs/datasets.md describes it, or a YAML or JSON file with one; without
    it a splits.yaml or splits.json in the folder is read. What a version holds already is that
    version. With a `namespace`, an entry that is missing is made there together with the version.
    Before a file is sent, raise `NotFound` for an entry that is missing, `InvalidRequest` for
    splits that do not fit the files, `InvalidName`, `PathInvalid`, `NotAllowed`, `StateConflict`,
    `TooLarge` and `QuotaExceeded`; `errors` names all of the reasons.
    """
    from hub.client import bundles, local_files  # noqa: PLC0415  (each verb imports what it needs)

    hub.config.require_network(name, "hub.push_dataset")
    selected = local_files.contents(Path(path), follow_links=follow_links)
    document = _take_splits(splits, selected, follow_links=follow_links)
    protocol.parse(document, frozenset(selected))
    files = local_files.measure(selected, progress=progress)
    content = {
        "namespace": namespace or "",
        "files": {file.path: f"sha256:{file.sha256}" for file in files},
        "splits": document,
        "message": message,
        "sizes": {file.path: file.size for file in files},
    }
    address = _address(name)
    try:
        checked = bundles.preflight(hub.transport, address, content)
    except problems.NotFound as error:
        if not namespace:
            error.add_note("Pass a namespace (hub dataset push --namespace) to create the entry.")
        raise
    if checked.identical_to is not None:
        say(
            f"{name}: identical to version {checked.identical_to}, so nothing was sent",
            is_shown=progress,
        )
        return dict(hub.transport.get(f"{address}/versions/{checked.identical_to}"))
    sent = {file.sha256: file for file in files if file.path in checked.missing}.values()
    bundles.send(hub.transport, hub.cache, name, sent, progress=progress)
    # The same content is the same version, so a second request does no harm.
    path = f"{address}/versions"
    answer = hub.transport.request("POST", path, content=content, repeatable=True)
    if checked.creates:
        say(f"{name}: created", is_shown=progress)
    digests = {file.sha256 for file in files}
    say(
        f"{name}: {counting.plural(len(sent), 'file')} sent "
        f"({counting.size(sum(file.size for file in sent))}), "
        f"{len(digests) - len(sent)} already on the hub, {len(files) - len(digests)} copied",
        is_shown=progress,
    )
    return dict(answer.json())


def read(hub: Hub, name: str) -> dict[str, Any]:
    """Return the hub's description of a data set, with `version`: the newest, or that of `name@n`.

    `version` is `None` for a data set without one. `versions` are the newest 100, newest first,
    without their files and splits. Raise `NotFound`.
    """
    slug, _, number = name.partition("@")
    if number and not (number.isascii() and number.isdigit()):
        raise problems.InvalidReference(
            f"{name!r} names no version of a data set. Write for example {slug}@2."
        )
    hub.config.require_network(name, "hub.dataset")
    address = _address(slug)
    entry = hub.reads.get(address)
    versions = hub.reads.get(f"{address}/versions", query={"limit": PAGE})["items"]
    version_number = number or (versions[0]["number"] if versions else None)
    version = hub.reads.get(f"{address}/versions/{version_number}") if version_number else None
    return {**entry, "version": version, "versions": versions}


def download(
    hub: Hub, name: str, to: str | os.PathLike[str], *, progress: bool | None = None
) -> Path:
    """Write every file of a version into the folder `to`, each verified by its SHA-256; return it.

    It is the newest version, or that of `name@n`. Files of the same name are replaced, others
    stay. Files that the cache holds are not fetched again. Raise `NotFound` where there is no
    version, `Withdrawn` for a withdrawn data set, `DigestMismatch` for files that came damaged.
    """
    from hub.client import snapshots  # noqa: PLC0415  (each verb imports what it needs)

    files = files_of(hub, name)
    return snapshots.export(files, hub.bring(name, files, progress=progress), Path(to))


def files_of(hub: Hub, name: str) -> tuple[RemoteFile, ...]:
    """Every file of the newest version, or of that of `name@n`.

    Raise `NotFound` where there is no version.
    """
    from hub.client.cache import RemoteFile  # noqa: PLC0415  (each verb imports what it needs)

    version = problems.expect(
        read(hub, name)["version"],
        problems.NotFound(f"The data set {name} has no version, so there are no files."),
    )
    try:
        return tuple(RemoteFile.from_json(item) for item in version["files"])
    except (KeyError, TypeError, ValueError) as error:
        raise problems.Unreachable(f"The hub's response is incomplete ({error!r}).") from None


def every(
    hub: Hub, query: str | None = None, *, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Iterate over data sets by name, at most `limit` of them, that hold the words of `query`."""
    hub.config.require_network(query or "", "hub.list_datasets")
    return catalogue.items(hub.reads, ADDRESS, {"q": query}, limit)


def _address(slug: str) -> str:
    return f"{ADDRESS}/{quote(slug, safe='')}"


def _take_splits(
    splits: str | os.PathLike[str] | Sequence[dict[str, Any]] | None,
    files: dict[str, Selected],
    *,
    follow_links: bool,
) -> Any:
    """The document of the splits, whose file is taken out of ``files`` where it lies there."""
    from hub.client import local_files  # noqa: PLC0415

    if splits is None:
        path = next((path for path in SPLIT_FILES if path in files), None)
        return [] if path is None else _read_splits(path, files.pop(path))
    if not isinstance(splits, str | os.PathLike):
        return list(splits)
    selected = local_files.select(Path(splits), follow_links=follow_links)
    for path in [path for path, file in files.items() if file.source == selected.source]:
        del files[path]
    return _read_splits(str(splits), selected)


def _read_splits(name: str, file: Selected) -> Any:
    """What a YAML or JSON file holds; raises InvalidRequest, and LibraryMissing without PyYAML."""
    with file.open() as reader:
        content = reader.read()
    if name.endswith(".json"):
        try:
            return json.loads(content)
        except ValueError as error:
            raise _unreadable(name, error) from None
    try:
        import yaml  # noqa: PLC0415  (optional)
    except ModuleNotFoundError:
        raise problems.LibraryMissing(
            f"Reading {name} needs PyYAML: pip install 'onnx-hub[cli]'. Or write the splits as "
            "JSON, in a file whose name ends in .json."
        ) from None
    try:
        return yaml.safe_load(content)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: Exception) -> problems.InvalidRequest:
    return problems.InvalidRequest(f"The splits {name} cannot be read: {error}")
