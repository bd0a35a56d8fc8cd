"""Results of a version as the protocol has them: what its files claim, and what this hub measured.

The measured ones are a file that no commit has, since they come after it, as the models that
transformers.js asks for do. Source: hub-docs, eval_results.yaml.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from registry.cards import result_files
from registry.models import Version
from registry.versions import evidence

PATH: Final = ".eval_results/measured-by-this-hub.yaml"


def rows(version: Version | None, front: dict[str, Any]) -> list[dict[str, Any]]:
    """Each result with its file; none is `verified`, since no signature was.

    A file that cannot be read has an `error` in place of its results.
    """
    claimed = [
        {"filename": row["file"], "error": row["error"]}
        if "error" in row
        else _row(str(row["file"]), {key: value for key, value in row.items() if key != "file"})
        for row in result_files.of_files(front)
    ]
    return [*claimed, *(_row(PATH, entry) for entry in _measured(version))]


def measured_file(version: Version) -> bytes | None:
    """What this hub measured of a version, as YAML; None without any."""
    entries = _measured(version)
    if not entries:
        return None
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True).encode()


def _row(filename: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {"filename": filename, "verified": False, "data": entry}


def _measured(version: Version | None) -> list[dict[str, Any]]:
    return evidence.scores(version) if version is not None and version.is_served else []
