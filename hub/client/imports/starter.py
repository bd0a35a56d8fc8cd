"""`hub import starter`: the hub imports models from packages; a folder may bring the archives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hub.client import bundles, local_files
from hub.client.hub import Hub
from hub.protocol import digests, problems

if TYPE_CHECKING:
    from hub.client.rest.starter import StarterModel

POLL_SECONDS = 1.0
IN_PROGRESS = frozenset({"queued", "running", "checking"})
_IMPORTABLE = frozenset({"absent", "failed"})
# A request for what is queued already raises its priority.
_REQUESTABLE = _IMPORTABLE | {"queued"}


def select(hub: Hub, names: Iterable[str], *, is_all: bool) -> list[StarterModel]:
    """The models of these names, or the first ones, or all; raises NotFound for another name."""
    models = {model.name: model for model in hub.starter.list()}
    selection = list(dict.fromkeys(names))
    if unknown := [name for name in selection if name not in models]:
        raise problems.NotFound(
            f"There is no starter model {unknown[0]!r}. Choose from: {', '.join(models)}."
        )
    if selection:
        return [models[name] for name in selection]
    return [model for model in models.values() if is_all or model.is_first]


def bring(hub: Hub, models: Iterable[StarterModel], folder: Path, *, progress: bool | None) -> None:
    """Upload the archives of models that lie in a folder and that the hub does not store.

    Raises NotFound where one is not there, DigestMismatch where a file is another one.
    """
    for model in models:
        for package in model.packages:
            if package.is_stored or model.state not in _IMPORTABLE:
                continue
            path = folder / package.archive
            if not path.is_file():
                raise problems.NotFound(
                    f"{folder} has no {package.archive}, which {model.name} needs."
                )
            [file] = local_files.measure(
                {package.archive: local_files.select(path)}, progress=progress
            )
            if digests.format(file.sha256) != package.sha256:
                raise problems.DigestMismatch(
                    f"{package.archive} has the digest {digests.format(file.sha256)}, not "
                    f"{package.sha256}. Fetch {package.name} {package.version} again."
                )
            bundles.send(hub.transport, hub.cache, model.name, [file], progress=progress)


def request(hub: Hub, models: Iterable[StarterModel]) -> list[StarterModel]:
    """Request the import of the models that are not there; all with their states afterwards."""
    return [
        hub.starter.request_import(model.name) if model.state in _REQUESTABLE else model
        for model in models
    ]


def wait(
    hub: Hub, models: Iterable[StarterModel], on_change: Callable[[StarterModel], None]
) -> list[StarterModel]:
    """Wait until no import is in progress, calling ``on_change`` for each state."""
    rows = list(models)
    for row in rows:
        on_change(row)
    while any(row.state in IN_PROGRESS for row in rows):
        time.sleep(POLL_SECONDS)
        for at, row in enumerate(rows):
            if row.state in IN_PROGRESS:
                rows[at] = hub.starter.read(row.name)
                if (rows[at].state, rows[at].detail) != (row.state, row.detail):
                    on_change(rows[at])
    return rows
