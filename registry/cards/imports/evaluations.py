"""Hugging Face's ``eval_results.yaml``: results of benchmarks, into the card's ``model-index``.

Source: hub-docs, eval_results.yaml. ``verifyToken`` is kept, and proves nothing here.
"""

from __future__ import annotations

from typing import Any

from hub.protocol import stored
from registry.cards.imports.files import Proposal, refused, rows, words, yaml_of

KIND = "eval_results.yaml"
UNNAMED = "score"


def read(text: str) -> Proposal:
    """One result for each entry of the file."""
    document = yaml_of(text, KIND)
    entries = rows(document)
    if not isinstance(document, list) or not entries:
        raise refused(KIND, "it must be a list of results, each with dataset and value.")
    notes: list[str] = []
    results = [_result(entry, at, notes) for at, entry in enumerate(entries)]
    if len(document) > len(entries):
        notes.append(f"Only the first {len(entries)} of {len(document)} results were imported.")
    if any(result["metrics"][0]["type"] == UNNAMED for result in results):
        notes.append(
            f"The file does not name its metric, so it is called {UNNAMED!r}. Enter its name."
        )
    return Proposal("eval-results", {"model-index": [{"results": results}]}, notes)


def _result(entry: Any, at: int, notes: list[str]) -> dict[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("dataset"), dict):
        raise refused(KIND, f"entry {at + 1} has no dataset with an id.")
    dataset = entry["dataset"]
    name, task = words(dataset.get("id"), 300), words(dataset.get("task_id"), 200)
    value = entry.get("value")
    if not name:
        raise refused(KIND, f"entry {at + 1} has no dataset with an id.")
    if not stored.is_number(value):
        raise refused(KIND, f"entry {at + 1}: value must be a number.")
    of: dict[str, Any] = {"type": name, "name": name}
    if revision := words(dataset.get("revision"), 100):
        of["revision"] = revision
    metric: dict[str, Any] = {"type": words(entry.get("metric"), 100) or UNNAMED, "value": value}
    if token := words(entry.get("verifyToken"), 2000):
        metric["verifyToken"] = token
        note = "The verifyToken is kept in the card, but this hub does not verify it."
        notes += [note] if note not in notes else []
    result: dict[str, Any] = {"dataset": of, "metrics": [metric]}
    if task:
        result = {"task": {"type": task}, **result}
    source = entry.get("source")
    if isinstance(source, dict):
        origin = {key: text for key in ("name", "url") if (text := words(source.get(key), 500))}
        if origin:
            result["source"] = origin
    return result
