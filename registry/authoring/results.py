"""What a card says was measured: metrics on data sets, in the forms that Hugging Face knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from registry.authoring import values, vocabularies
from registry.authoring.values import anything, date, iri, listed, mapping, text, word

if TYPE_CHECKING:
    from registry.authoring.findings import Notes
    from registry.authoring.values import Check


def metric_value(notes: Notes, pointer: str, value: Any, name: str) -> None:
    """A measured value: finite; a share is a fraction, or clearly a percentage."""
    if isinstance(value, str):
        notes.warn(
            pointer,
            f"{value[:60]!r} is text and cannot be compared.",
            values.bare_number(value),
        )
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        notes.error(
            pointer,
            f"This must be a number and is {values.kind(value)}.",
            "Write what was measured.",
        )
        return
    if name.strip().lower().replace(" ", "_") not in vocabularies.SHARES:
        return
    if value < 0 or value > 100:
        notes.error(
            pointer, f"{name} is a share; {value:g} cannot be.", "Write a fraction from 0 to 1."
        )
    elif value > 1:
        notes.warn(
            pointer,
            f"{value:g} is taken for per cent.",
            f"Write the fraction {value / 100:.6g}; if {value:g} is no percentage, correct it.",
        )


def _measured(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "type": text,
        "name": text,
        "config": anything,
        "args": anything,
        "value": anything,
        "verified": anything,
        "verifyToken": anything,
    }
    mapping(parts, wanted="a metric with type and value", needs=("type", "name"))(
        notes, pointer, value
    )
    if not isinstance(value, dict):
        return
    if value.get("value") is None:
        notes.error(pointer, "The metric has no value.", "Give what was measured, or remove it.")
    else:
        name = str(value.get("type") or value.get("name") or "")
        metric_value(notes, f"{pointer}/value", value["value"], name)
    _tokens(notes, pointer, value)


def _tokens(notes: Notes, pointer: str, value: dict[str, Any]) -> None:
    for name in ("verifyToken", "verified"):
        if value.get(name):
            notes.warn(
                f"{pointer}/{name}",
                "It is kept, and proves nothing here.",
                "What the hub measures itself stands beside the card.",
            )


def _evaluated_on(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        return
    parts: dict[str, Check] = {
        "type": text,
        "name": text,
        "config": anything,
        "split": text,
        "revision": word,
        "args": anything,
    }
    mapping(parts, wanted="a data set with type and name")(notes, pointer, value)


_RESULT: dict[str, Check] = {
    "task": mapping({"type": text, "name": text}, wanted="a task with a type"),
    "dataset": _evaluated_on,
    "metrics": listed(_measured, wanted="a list of metrics", alone=False),
    "source": mapping({"name": text, "url": iri}, wanted="a source with name and url"),
}
model_index = listed(
    mapping(
        {
            "name": text,
            "results": listed(
                mapping(_RESULT, wanted="a result with dataset and metrics"),
                wanted="a list of results",
                alone=False,
            ),
        },
        wanted="a model with its results",
        needs=("results",),
    ),
    wanted="a list of results",
    alone=False,
)


def eval_result(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "dataset": mapping(
            {"id": text, "task_id": text, "revision": word}, wanted="a data set with id and task_id"
        ),
        "value": anything,
        "metric": text,
        "date": date,
        "source": mapping({"url": iri, "name": text, "user": text}, wanted="a source with url"),
        "notes": text,
        "verifyToken": anything,
    }
    mapping(parts, wanted="a result with dataset and value")(notes, pointer, value)
    if isinstance(value, dict):
        if value.get("value") is None:
            notes.error(pointer, "The result has no value.", "Give what was measured.")
        else:
            metric_value(notes, f"{pointer}/value", value["value"], str(value.get("metric", "")))
        _tokens(notes, pointer, value)
