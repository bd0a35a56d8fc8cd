"""A version as a model package of ONNX Runtime: a manifest, and a folder for each component.

    FOLDER/manifest.json
    FOLDER/decoder/cpu/model.onnx     and its external data beside it

`onnxruntime.ModelPackageContext` reads it (ONNX Runtime 1.32, schema version 1.0). A version that
has such a manifest is written as it is.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hub.client import loading, packages, snapshots
from hub.client.cache import RemoteFile, Resolved
from hub.client.hub import Hub
from hub.protocol import problems, refs

MANIFEST, SCHEMA_VERSION = "manifest.json", "1.0"
# The only variant of each component. Without a provider, the runtime selects none.
_VARIANT, _PROVIDER = "cpu", "CPUExecutionProvider"


@dataclass(frozen=True, slots=True)
class _Part:
    """A component: its name, the file that is loaded, and files by their paths beside it."""

    name: str
    model: str
    files: dict[str, RemoteFile]


def write(
    hub: Hub,
    ref: str,
    to: str | os.PathLike[str],
    *,
    opset: int | None = None,
    variant: str | None = None,
    strength: str | None = None,
    progress: bool | None = None,
) -> Path:
    """Write a version into the folder `to`, and return that.

    Its components are those of its package, or else the variant alone; what is no part of a graph,
    such as a tokenizer, stays where it is. All files are verified by their SHA-256. Raise
    `InvalidRequest` for a variant or opset of a version with several components, and whatever
    `Hub.load` raises.
    """
    resolved = hub.resolve(ref, opset=opset, variant=variant, strength=strength)
    if any(file.path == MANIFEST for file in resolved.files):
        blobs = hub.bring(str(resolved.ref), resolved.files, progress=progress)
        return snapshots.export(resolved.files, blobs, Path(to))
    parts = list(_parts(hub, resolved, progress=progress))
    if len(parts) > 1 and (opset or variant or refs.parse(ref).variant):
        raise problems.InvalidRequest(
            f"{resolved.ref} has several components, which have no variants in common."
        )
    graphs = {file.path for part in parts for file in part.files.values()}
    files = [file for file in resolved.files if not _is_part(file, graphs)]
    for part in parts:
        base = posixpath.join(part.name, _VARIANT)
        files += [replace(row, path=posixpath.join(base, at)) for at, row in part.files.items()]
    blobs = hub.bring(str(resolved.ref), files, progress=progress)
    folder = snapshots.export(files, blobs, Path(to))
    (folder / MANIFEST).write_text(json.dumps(_manifest(parts), indent=2) + "\n")
    return folder


def _parts(hub: Hub, resolved: Resolved, *, progress: bool | None) -> Iterator[_Part]:
    """The components with the files of their graphs."""
    rows = [] if hub.config.offline else packages.components_of(resolved, hub.reads.get)
    models = {row.name.replace("/", "-"): row.model for row in rows}
    for name, model in (models or {"model": loading.entry_of(resolved).path}).items():
        own = replace(resolved, entry=model)
        _, sources = loading.read_graph(
            own, lambda files: hub.bring(str(resolved.ref), list(files), progress=progress)
        )
        entry = loading.entry_of(own)
        title = posixpath.basename(entry.path)
        beside = {refs.check_path(location): file for location, file in sources.items()}
        yield _Part(name, title, {title: entry, **beside})


def _is_part(file: RemoteFile, graphs: set[str]) -> bool:
    return file.path in graphs or file.path.lower().endswith(".onnx")


def _manifest(parts: list[_Part]) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "components": {
            part.name: {
                "variants": {
                    _VARIANT: {
                        "ep": _PROVIDER,
                        "variant_directory": posixpath.join(part.name, _VARIANT),
                        "executor_info": {"ort": {"model_file": part.model}},
                    }
                }
            }
            for part in parts
        },
    }
