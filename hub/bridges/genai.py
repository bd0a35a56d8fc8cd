"""A version as a folder that ONNX Runtime GenAI loads: its `genai_config.json` at the top.

    FOLDER/genai_config.json
    FOLDER/model.onnx         and what else the package has beside it

A version with configs in several folders, such as one for each execution provider, keeps them.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from pathlib import Path

from hub.client import packages, snapshots
from hub.client.hub import Hub


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
    """Write the package into the folder `to`, and return that.

    All its files are verified by their SHA-256. Raise `ComponentMissing` where the version has no
    `genai_config.json`, and whatever `Hub.load` raises.
    """
    resolved = hub.resolve(ref, opset=opset, variant=variant, strength=strength)
    place = ""
    if len(packages.folders_of(resolved)) < 2:
        resolved, place = packages.with_folder(resolved, None)
    blobs = hub.bring(str(resolved.ref), resolved.files, progress=progress)
    files = [
        replace(file, path=posixpath.relpath(file.path, place or ".")) for file in resolved.files
    ]
    return snapshots.export(files, blobs, Path(to))
