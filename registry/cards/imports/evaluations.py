"""Hugging Face's results of benchmarks, ``.eval_results/*.yaml``, also into ``model-index``.

Source: hub-docs, eval_results.yaml. ``verifyToken`` is kept, and proves nothing here.
"""

from __future__ import annotations

from typing import Any

from hub.protocol import stored
from registry.cards.imports.files import Proposal, refused, rows, words, yaml_of

KIND = "eval_results.yaml"
UNNAMED = "score"
# The texts of an entry, of its data set and of its source, and their greatest lengths.
_TEXTS = {"metric": 100, "unit": 20, "date": 40, "notes": 500, "verifyToken": 2000}
_DATASET = {"id": 300, "task_id": 200, "revision": 100}
_SOURCE = {"url": 500, "name": 200, "user": 100, "org": 100}


def entries(text: str) -> list[dict[str, Any]]:
    """The entries of a file, at most 200, with what the format has; raises InvalidRequest."""
    document = yaml_of(text, KIND)
    items = rows(document)
    if not isinstance(document, list) or not items:
        raise refused(KIND, "it must be a list of results, each with dataset and value.")
    return [_entry(item, at) for at, item in enumerate(items, start=1)]


def read(text: str) -> Proposal:
    """One result for each entry of the file."""
    items = entries(text)
    notes: list[str] = []
    document = yaml_of(text, KIND)
    if len(document) > len(items):
        notes.append(f"Only the first {len(items)} of {len(document)} results were imported.")
    if any("verifyToken" in entry for entry in items):
        notes.append("The verifyToken is kept in the card, but this hub does not verify it.")
    if not all("metric" in entry for entry in items):
        notes.append(
            f"The file does not name its metric, so it is called {UNNAMED!r}. Enter its name."
        )
    results = [_result(entry) for entry in items]
    return Proposal("eval-results", {"model-index": [{"results": results}]}, notes)


def _entry(item: Any, at: int) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise refused(KIND, f"entry {at} has no dataset with an id.")
    dataset, value = _texts(item.get("dataset"), _DATASET), item.get("value")
    if "id" not in dataset:
        raise refused(KIND, f"entry {at} has no dataset with an id.")
    if not stored.is_number(value):
        raise refused(KIND, f"entry {at}: value must be a number.")
    source = _texts(item.get("source"), _SOURCE)
    return {
        "dataset": dataset,
        "value": value,
        **_texts(item, _TEXTS),
        **({"source": source} if source else {}),
    }


def _texts(value: Any, longest: dict[str, int]) -> dict[str, str]:
    """The texts of a mapping that have a name here; without those that are empty."""
    fields = stored.mapping(value)
    texts = {name: words(fields.get(name), limit) for name, limit in longest.items()}
    return {name: text for name, text in texts.items() if text}


def _result(entry: dict[str, Any]) -> dict[str, Any]:
    dataset = entry["dataset"]
    of = {"type": dataset["id"], "name": dataset["id"]}
    if "revision" in dataset:
        of["revision"] = dataset["revision"]
    metric = {"type": entry.get("metric", UNNAMED), "value": entry["value"]}
    if "verifyToken" in entry:
        metric["verifyToken"] = entry["verifyToken"]
    result: dict[str, Any] = {"dataset": of, "metrics": [metric]}
    if "task_id" in dataset:
        result = {"task": {"type": dataset["task_id"]}, **result}
    origin = {key: text for key, text in entry.get("source", {}).items() if key in ("name", "url")}
    return {**result, "source": origin} if origin else result
