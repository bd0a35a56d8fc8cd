"""Results that the files of a version claim: `.eval_results/*.yaml`, beside those of its card.

They join the field `eval_results` of the card when a version is submitted, each with its `file`. A
file that cannot be read is there too, with an `error`: it never stops a publication.
Source: hub-docs, eval_results.yaml.
"""

from __future__ import annotations

from typing import Any, Final

from hub.protocol import huggingface, problems, stored
from registry.cards.imports import evaluations
from registry.core import parsing
from registry.models import File, Version
from registry.storage.files import store

FIELD: Final = "eval_results"
MOST_FILES, MOST_ROWS, LIMIT_BYTES = 20, 200, 100_000


def with_files(version: Version) -> dict[str, Any]:
    """The card of a version with the results of its files."""
    card = without_files(version.card)
    files = version.files.filter(path__startswith=huggingface.RESULTS_FOLDER)
    rows: list[dict[str, Any]] = []
    paths = 0
    for file in files.select_related("blob").order_by("path"):
        if huggingface.is_results(file.path):
            paths += 1
            rows += _rows(file) if paths <= MOST_FILES else [_unread(file, _TOO_MANY)]
    if not rows:
        return card
    own = stored.rows(card.get(FIELD))
    return {**card, FIELD: [*own, *rows[:MOST_ROWS]]}


def without_files(card: dict[str, Any]) -> dict[str, Any]:
    """A card as its README has it."""
    rows = card.get(FIELD)
    if not isinstance(rows, list) or not of_files(card):
        return card
    own = [row for row in rows if not (isinstance(row, dict) and "file" in row)]
    rest = {name: value for name, value in card.items() if name != FIELD}
    return {**rest, FIELD: own} if own else rest


def of_files(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The results in a card that are of files, and the files that could not be read."""
    return [row for row in stored.rows(card.get(FIELD)) if "file" in row]


_TOO_MANY = f"Only the first {MOST_FILES} files of results are read."


def _rows(file: File) -> list[dict[str, Any]]:
    if file.blob.size > LIMIT_BYTES:
        return [_unread(file, f"A file of results may have at most {LIMIT_BYTES:,} bytes.")]
    try:
        text = store().read(file.blob_id, LIMIT_BYTES).decode("utf-8")
        entries = parsing.run(evaluations.entries, text)
    except UnicodeDecodeError:
        return [_unread(file, "The file is not UTF-8 text.")]
    except (problems.InvalidRequest, problems.TextTooCostly) as error:
        return [_unread(file, str(error))]
    return [{"file": file.path, **entry} for entry in entries]


def _unread(file: File, reason: str) -> dict[str, str]:
    return {"file": file.path, "error": reason}
