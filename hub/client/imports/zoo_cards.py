"""Cards of imported models: what the manifest tells, where it came from, and nothing guessed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.client.imports.zoo_source import ZooFile

# Words of the Model Zoo that mean one task and no other; the rest stay keywords alone.
TASKS = {
    frozenset({"vision", "classification"}): "image-classification",
    frozenset({"vision", "super resolution"}): "image-to-image",
    frozenset({"vision", "style transfer"}): "image-to-image",
}
MOST_TAGS = 50


def write(model: str, origin: str, license_: str, zoo_files: Sequence[ZooFile]) -> str:
    """Return the card of a model that was imported from the manifest `origin`, as Markdown."""
    tags = list(dict.fromkeys(tag for zoo_file in zoo_files for tag in zoo_file.entry.tags))
    task = next(filter(None, (zoo_file.entry.task for zoo_file in zoo_files)), "") or task_of(tags)
    license_id = next(filter(None, (zoo_file.entry.license for zoo_file in zoo_files)), license_)
    title = " ".join(model.split())[:120]
    front: dict[str, Any] = {
        "license": license_id,
        "pipeline_tag": task,
        "tags": [tag for tag in tags if tag != task][:MOST_TAGS],
        "summary": f"{title}, from a model zoo",
        "imported_from": {
            "manifest": origin,
            "model": title,
            "files": [_file(zoo_file) for zoo_file in zoo_files],
        },
    }
    # Every JSON text is YAML; letters beyond ASCII stay, as YAML knows no surrogate pairs.
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in front.items() if value}
    lines = [f"{name}: {text}" for name, text in texts.items()]
    rows = [
        f"| {zoo_file.entry.opset} | `{zoo_file.path}` | `{zoo_file.sha256}` |"
        for zoo_file in zoo_files
    ]
    table = "\n".join(["| opset | file | SHA-256 |", "|---|---|---|", *rows])
    head = "\n".join(["---", *lines, "---"])
    return f"{head}\n# {title}\n\nImported from `{origin}`.\n\n{table}\n"


def task_of(tags: Sequence[str]) -> str:
    """Return the task that the words of a model mean, or nothing where they do not say one."""
    words = {tag.lower().replace("_", " ").replace("-", " ") for tag in tags}
    tasks = {task for required, task in TASKS.items() if required <= words}
    return tasks.pop() if len(tasks) == 1 else ""


def _file(zoo_file: ZooFile) -> dict[str, Any]:
    row: dict[str, Any] = {
        "file": zoo_file.path,
        "opset": zoo_file.entry.opset,
        "path": zoo_file.entry.path,
        "sha256": zoo_file.sha256,
    }
    if zoo_file.data:
        row |= {"data_path": zoo_file.entry.data_path, "data_sha256": zoo_file.data_sha256}
    return row
