"""Which outputs of a model are its answers: scores of classes, labels, or values.

The rule: a classifier's answer is the one output that has a score of each class for each row, and
its label output, where it has one; of two classes with a positive one, a single score for each row
will do; a regression's is the one output with a number for each row.
Several that could be meant are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hub.protocol import splits
from hub.protocol.splits import Split, Task
from runners.engine.onnx_files import text

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

Kind = Literal["floats", "labels", "maps", "other"]
_NONE = -1


class UnfitOutputError(ValueError):
    """The outputs of a model are no answers to the split; the message says why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The places of the outputs that answer; -1 for none. ``keys`` are those of maps of scores."""

    scores: int
    labels: int
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Output:
    """An output for some rows: its kind, and how many values it has for each row."""

    name: str
    kind: Kind
    width: int
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = {"floats": "numbers", "labels": "integers or texts", "maps": "scores by class"}
        if self.kind == "other":
            return f"{self.name!r} has no value for each row"
        return f"{self.name!r} has {self.width:,} {words[self.kind]} for each row"


def choose(
    names: Sequence[str],
    values: Sequence[Any],
    rows: int,
    task: Task,
    count: int,
    *,
    exact: bool,
    has_positive: bool = False,
    named: str = "",
) -> Choice:
    """Choose among a model's outputs for some rows. Raises UnfitOutputError.

    ``count`` is the number of classes; where it is not ``exact``, a model may have more. One score
    for each row counts where the split has a positive class. ``named`` is the output that the split
    names, if it does.
    """
    outputs = [
        _output(name, value, rows)
        if named in ("", name)
        else _Output(text.clip(name, 100), "other", 0)
        for name, value in zip(names, values, strict=True)
    ]
    numbers = [
        at for at, output in enumerate(outputs) if output.kind == "floats" and output.width == 1
    ]
    if task == "regression":
        return Choice(_only(numbers, outputs, "one number for each row"), _NONE)
    if task == splits.MULTI_LABEL:
        several = [
            at
            for at, output in enumerate(outputs)
            if (output.kind, output.width) == ("floats", count)
        ]
        return Choice(_only(several, outputs, f"{count:,} scores for each row"), _NONE)
    scores = [
        at
        for at, output in enumerate(outputs)
        if output.kind in ("floats", "maps")
        and output.width > 1
        and (output.width == count if exact else output.width >= count)
    ]
    labels = [
        at for at, output in enumerate(outputs) if output.kind == "labels" and output.width == 1
    ]
    if not scores and count == 2 and numbers:
        # One score for each row is that of the positive class, which the split has to name.
        if has_positive:
            scores = numbers
        elif not labels:
            raise UnfitOutputError(
                f"The output {outputs[numbers[0]].name!r} has one score for each row, and the "
                "split does not say of which class. Name it as `positive` in the split's target."
            )
    if not scores and not labels:
        _only([], outputs, f"{count:,} scores or one label for each row")
    place = _only(scores, outputs, f"{count:,} scores for each row") if scores else _NONE
    label = _NONE
    if labels:
        label = _only(labels, outputs, "one label for each row")
    return Choice(place, label, outputs[place].keys if scores else ())


def choose_sequence(names: Sequence[str], values: Sequence[Any], split: Split) -> int:
    """The place of the output that has numbers for each step. Raises UnfitOutputError.

    Text has scores of characters for each step, so its output has three axes; a language model's
    has exactly three, as its cache has four.
    """
    least = 3 if split.task in (splits.TEXT, splits.LANGUAGE) else 1
    most = 3 if split.task == splits.LANGUAGE else math.inf
    outputs = [_output(name, value, 1) for name, value in zip(names, values, strict=True)]
    named = split.target.output
    places = [
        at
        for at, (name, value, output) in enumerate(zip(names, values, outputs, strict=True))
        if output.kind == "floats" and least <= np.ndim(value) <= most and named in ("", name)
    ]
    return _only(places, outputs, "scores for each step" if least == 3 else "numbers")


def floats(value: Any, rows: int, keys: Sequence[str] = ()) -> Array:
    """Scores or values as ``[rows, width]`` in float64; of maps in the order of ``keys``."""
    if not keys:
        return np.asarray(value).reshape(rows, -1).astype(np.float64)
    by_name = [{str(key): score for key, score in row.items()} for row in value]
    if any(row.keys() != set(keys) for row in by_name):
        raise UnfitOutputError("The model's maps of scores do not always have the same classes.")
    return np.asarray([[float(row[key]) for key in keys] for row in by_name], dtype=np.float64)


def labels(value: Any, rows: int) -> list[str]:
    """The labels of some rows as text."""
    return [str(label) for label in np.asarray(value).reshape(rows).tolist()]


def _output(name: str, value: Any, rows: int) -> _Output:
    label = text.clip(name, 100)
    if isinstance(value, list) and len(value) == rows and all(isinstance(r, dict) for r in value):
        keys = tuple(str(key) for key in value[0]) if value else ()
        return _Output(label, "maps", len(keys), keys)
    array = np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None
    if array is None or array.ndim == 0 or array.shape[0] != rows or not array.size:
        return _Output(label, "other", 0)
    width = array.size // rows
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        return _Output(label, "floats", width)
    return _Output(label, "labels" if array.dtype.kind in "iuO" else "other", width)


def _only(places: Sequence[int], outputs: Sequence[_Output], what: str) -> int:
    if len(places) == 1:
        return places[0]
    if not places:
        examples = "; ".join(map(str, outputs[:5])) or "it has no outputs"
        raise UnfitOutputError(f"No output of the model gives {what}: {examples}.")
    names = " and ".join(repr(outputs[place].name) for place in places[:3])
    raise UnfitOutputError(
        f"Several outputs of the model give {what}, and nothing says which one counts: {names}."
    )
