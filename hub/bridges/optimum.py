"""A version as Optimum and transformers.js read it: configs at the top, models in `onnx`.

    FOLDER/config.json
    FOLDER/onnx/model.onnx    and its external data beside it

A version that has models in `onnx` is written as it is.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from pathlib import Path

from hub.client import loading, snapshots
from hub.client.cache import RemoteFile, Resolved
from hub.client.hub import Hub
from hub.protocol import problems, refs
from hub.protocol.packages import MODEL_ENDING

CONFIG, MODELS = "config.json", "onnx"


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

    Of a version without a folder `onnx`, that are the variant, and the files beside its models. All
    are verified by their SHA-256. Raise `InvalidRequest` where there is no `config.json`, without
    which neither tool loads a model, and whatever `Hub.load` raises.
    """
    resolved = hub.resolve(ref, opset=opset, variant=variant, strength=strength)
    if not any(file.path == CONFIG for file in resolved.files):
        raise problems.InvalidRequest(
            f"{resolved.ref} has no {CONFIG}. Optimum and transformers.js choose a class by it. "
            "Push it beside the model."
        )
    files = list(resolved.files)
    if not any(_is_model(file) and file.path.startswith(f"{MODELS}/") for file in files):
        files = _moved(hub, resolved, progress=progress)
    blobs = hub.bring(str(resolved.ref), files, progress=progress)
    return snapshots.export(files, blobs, Path(to))


def _moved(hub: Hub, resolved: Resolved, *, progress: bool | None) -> list[RemoteFile]:
    """The variant as `onnx/model.onnx` with its external data, and the files beside models."""
    entry = loading.entry_of(resolved)
    _, sources = loading.read_graph(
        resolved, lambda files: hub.bring(str(resolved.ref), list(files), progress=progress)
    )
    weights = {file.path for file in sources.values()}
    others = [file for file in resolved.files if not _is_model(file) and file.path not in weights]
    return [
        replace(entry, path=f"{MODELS}/model{MODEL_ENDING}"),
        *(
            replace(file, path=posixpath.join(MODELS, refs.check_path(location)))
            for location, file in sources.items()
        ),
        *others,
    ]


def _is_model(file: RemoteFile) -> bool:
    return file.path.lower().endswith(MODEL_ENDING)
