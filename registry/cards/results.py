"""What a card says was measured: metrics on data sets, in the forms that Hugging Face knows."""

from __future__ import annotations

from typing import Any

from hub.protocol import stored
from hub.protocol.cards import Card
from registry.cards import metrics, values
from registry.cards.findings import Notes
from registry.cards.values import Check, anything, date, iri, list_of, mapping, one_of, text, word

_unit = one_of((*metrics.UNITS, "%", "per cent"), what="unit")


def metric_value(notes: Notes, pointer: str, value: Any, name: str, unit: str = "") -> None:
    """A measured value: finite, and of its metric's scale in its unit, where one is given."""
    if isinstance(value, str):
        notes.warn(
            pointer,
            f"{value[:60]!r} is text and cannot be compared.",
            values.bare_number(value),
        )
        return
    if not stored.is_number(value):
        notes.error(
            pointer,
            f"This must be a number, not {values.kind(value)}.",
            "Write the measured value.",
        )
        return
    scale = metrics.scale_of(name)
    most = {"fraction": 1, "percent": 100}.get(unit, 100)
    if scale == "number":
        return
    if value < 0 or (scale == "share" and value > most):
        notes.error(
            pointer,
            f"{name} is a share; {value:g}{' percent' if unit == 'percent' else ''} cannot be.",
            "Write a fraction from 0 to 1, or 0 to 100 with unit: percent.",
        )
    elif 1 < value <= 100 and not unit:
        notes.warn(
            pointer,
            f"{value:g} is interpreted as a percentage.",
            f"Write the fraction {value / 100:.6g}, or unit: percent beside the value; if "
            f"{value:g} is no percentage, correct it.",
        )


def scales(notes: Notes, front: dict[str, Any]) -> None:
    """Note shares that may be meant in per cent, since the same card has others in per cent."""
    rows = [
        (result.pointer, result.value, metrics.unit_of(result.unit))
        for result in Card.read(front).results
        if isinstance(result.value, int | float) and metrics.scale_of(result.metric) != "number"
    ]
    percent = [value for _, value, unit in rows if unit == "percent" or (not unit and value > 1)]
    if not percent:
        return
    for pointer, value, unit in rows:
        if not unit and 0 < value <= 1:
            notes.warn(
                f"{pointer}/value",
                f"{value:g} is interpreted as a fraction, but {percent[0]:g} in this card as a "
                "percentage.",
                "Write unit: fraction or unit: percent beside each value.",
            )


def _measured(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "type": text,
        "name": text,
        "config": anything,
        "args": anything,
        "value": anything,
        "unit": _unit,
        "verified": anything,
        "verifyToken": anything,
    }
    mapping(parts, expected="a metric with type and value", needs=("type", "name"))(
        notes, pointer, value
    )
    if not isinstance(value, dict):
        return
    if value.get("value") is None:
        notes.error(
            pointer, "The value of the metric is missing.", "Give what was measured, or remove it."
        )
    else:
        name = str(value.get("type") or value.get("name") or "")
        unit = metrics.unit_of(value.get("unit"))
        metric_value(notes, f"{pointer}/value", value["value"], name, unit)
    _tokens(notes, pointer, value)


def _tokens(notes: Notes, pointer: str, value: dict[str, Any]) -> None:
    for name in ("verifyToken", "verified"):
        if value.get(name):
            notes.warn(
                f"{pointer}/{name}",
                "It is kept, but this hub does not verify it.",
                "The hub shows its own measurements beside the card.",
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
    mapping(parts, expected="a data set with type and name")(notes, pointer, value)


_RESULT: dict[str, Check] = {
    "task": mapping({"type": text, "name": text}, expected="a task with a type"),
    "dataset": _evaluated_on,
    "metrics": list_of(_measured, expected="a list of metrics", alone=False),
    "source": mapping({"name": text, "url": iri}, expected="a source with name and url"),
}
model_index = list_of(
    mapping(
        {
            "name": text,
            "results": list_of(
                mapping(_RESULT, expected="a result with dataset and metrics"),
                expected="a list of results",
                alone=False,
            ),
        },
        expected="a model with its results",
        needs=("results",),
    ),
    expected="a list of results",
    alone=False,
)


def eval_result(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "dataset": mapping(
            {"id": text, "task_id": text, "revision": word},
            expected="a data set with id and task_id",
        ),
        "value": anything,
        "unit": _unit,
        "metric": text,
        "date": date,
        "source": mapping({"url": iri, "name": text, "user": text}, expected="a source with url"),
        "notes": text,
        "verifyToken": anything,
    }
    mapping(parts, expected="a result with dataset and value")(notes, pointer, value)
    if isinstance(value, dict):
        if value.get("value") is None:
            notes.error(pointer, "The value of the result is missing.", "Write the measured value.")
        else:
            unit = metrics.unit_of(value.get("unit"))
            name = str(value.get("metric", ""))
            metric_value(notes, f"{pointer}/value", value["value"], name, unit)
        _tokens(notes, pointer, value)
