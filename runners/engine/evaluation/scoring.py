"""From the outputs of a model and the targets of a split to figures: the work of a child."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hub.protocol import pairs, splits
from hub.protocol.splits import Split
from runners.engine.evaluation import (
    classes,
    detection,
    metrics,
    predicting,
    readers,
    resampling,
    sequences,
)
from runners.engine.evaluation.answers import Figure, Figures
from runners.engine.evaluation.outputs import UnfitOutputError
from runners.engine.evaluation.resampling import Agreement, Error, Share
from runners.engine.runs.answers import Name

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
    Metrics = dict[str, Share | Agreement | Error]

# How far the sum of probabilities may be from 1.
_SUM_TOLERANCE = 1e-3
SIGMOID = "The scores are no probabilities; their sigmoid is used."
SOFTMAX = "The scores are no probabilities; log loss and ROC use their softmax."
NO_SCORES = "The model gives labels and no scores."
_TOO_MANY = f"There are more than {metrics.MOST_CURVE_VALUES:,} scores."
_TOO_MANY_FRAMES = f"There are more than {metrics.MOST_FRAME_VALUES:,} frames."
NEITHER = "The scores are from 0 to 1 and do not sum to 1."


def figures(work: Path, split: Split, count: int, subject: str) -> Figures:
    """Compute the figures. Raises UnfitOutputError.

    ``count`` is the number of classes, and ``subject`` the digest of the model's file, of which
    the bootstrap's seed is made together with that of the predictions.
    """
    if split.task in splits.SEQUENCES:
        return _sequences(work, split, subject)
    targets = np.load(work / readers.TARGETS, allow_pickle=False)
    file = work / predicting.SCORES
    scores = np.load(file, mmap_mode="r", allow_pickle=False) if file.is_file() else None
    if scores is not None and (bad := int((~np.isfinite(scores)).any(axis=1).sum())):
        raise UnfitOutputError(
            f"The model's answers to {bad:,} of {len(scores):,} rows are not finite numbers."
        )
    if split.task == splits.MULTI_LABEL:
        assert scores is not None  # noqa: S101 - and so has this task
        predictions, figures, skipped, notes = _several(targets, np.asarray(scores))
        lines = "".join(f"{''.join(map(str, row))}\n" for row in predictions.tolist())
    elif split.task == "regression":
        assert scores is not None  # noqa: S101 - a regression has no other outputs
        predictions = scores[:, 0]
        figures, skipped, notes = _regression(targets, predictions)
        lines = "".join(f"{value!r}\n" for value in predictions.tolist())
    else:
        labels = json.loads((work / predicting.LABELS).read_bytes())
        keys = json.loads((work / predicting.ANSWER).read_bytes())
        numbers = _numbers(labels, split.target.labels)
        if scores is not None and scores.shape[1] == 1:
            positive = split.target.labels.index(split.target.positive)
            predictions, figures, notes = _binary(targets, np.asarray(scores[:, 0]), positive)
            skipped = {}
            _require_agreement(predictions, numbers)
        else:
            if scores is not None:
                scores = _in_order(scores, keys, numbers, split.target.labels)
            predictions = scores.argmax(axis=1) if numbers is None else numbers  # type: ignore[union-attr]
            figures, skipped, notes = _classification(targets, predictions, scores, count)
        lines = "".join(f"{number}\n" for number in predictions.tolist())
    is_constant = len(predictions) > 1 and bool((predictions == predictions[0]).all())
    return _figures(figures, len(targets), lines, subject, skipped, notes, is_constant=is_constant)


def _sequences(work: Path, split: Split, subject: str) -> Figures:
    """The figures of a task whose answers are sequences; rows are drawn with all of their parts."""
    skipped: dict[str, str] = {}
    if split.task == splits.TEXT:
        figures, rows = _texts(work)
    elif split.task == splits.DETECTION:
        figures, rows = _boxes(work)
    else:
        targets = np.load(work / readers.TARGETS, allow_pickle=False)
        values = np.load(work / sequences.SCORES, allow_pickle=False)
        targets, values = (array.reshape(len(array), -1) for array in (targets, values))
        if split.task == splits.LANGUAGE:
            losses = np.load(work / sequences.LOSSES, allow_pickle=False)
            figures, rows = _tokens(targets[:, 1:], values, losses)
        else:
            figures, rows, skipped = _frames(split, targets, values)
    lines = "".join(f"{row}\n" for row in rows)
    is_constant = len(rows) > 1 and len(set(rows)) == 1
    return _figures(figures, len(rows), lines, subject, skipped, [], is_constant=is_constant)


def _frames(
    split: Split, targets: Array, values: Array
) -> tuple[Metrics, list[str], dict[str, str]]:
    if not np.isfinite(values).all():
        raise UnfitOutputError("The model's answers are not all finite numbers.")
    if split.task == splits.PITCH:
        rows = [" ".join(map(repr, row)) for row in values.tolist()]
        return {"rpa": Agreement(metrics.raw_pitch, targets, values)}, rows, {}
    is_on = (values > 0.5).astype(np.int64)
    micro = partial(metrics.several_f1, is_micro=True)
    figures: Metrics = {"f1-micro": Agreement(micro, targets.astype(np.int64), is_on)}
    rows = ["".join(map(str, row)) for row in is_on.tolist()]
    if values.size > metrics.MOST_FRAME_VALUES:
        return figures, rows, {"roc_auc": _TOO_MANY_FRAMES}
    figures["roc_auc"] = Agreement(metrics.frames_area, targets, values)
    return figures, rows, {}


def _texts(work: Path) -> tuple[Metrics, list[str]]:
    targets = json.loads((work / readers.TEXTS).read_bytes())
    texts = json.loads((work / sequences.TEXTS).read_bytes())
    pairs_of = list(zip(targets, texts, strict=True))
    words = [(target.split(), text.split()) for target, text in pairs_of]
    figures: Metrics = {
        "accuracy": Share(np.array([target == text for target, text in pairs_of])),
        "wer": _error_rate(words),
        "cer": _error_rate(pairs_of),
    }
    return figures, [json.dumps(text) for text in texts]


def _boxes(work: Path) -> tuple[Metrics, list[str]]:
    answers = json.loads((work / detection.FILE).read_bytes())
    targets = detection.rows_of(json.loads((work / readers.TEXTS).read_bytes()), 5)
    rows = detection.rows_of(answers, 6)
    at_half = partial(detection.mean_average_precision, thresholds=(0.5,))
    figures: Metrics = {
        "map": Agreement(detection.mean_average_precision, targets, rows),
        "map50": Agreement(at_half, targets, rows),
    }
    return figures, [json.dumps(row) for row in answers]


def _error_rate(pairs_of: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Error:
    """The edits by the parts of the targets, characters or words."""
    errors = np.array([metrics.edits(target, answer) for target, answer in pairs_of], float)
    lengths = np.array([len(target) for target, _ in pairs_of], float)
    return Error(metrics.ratio(errors, lengths), metrics.log_ratio(errors, lengths), _exp)


def _tokens(targets: Array, tokens: Array, losses: Array) -> tuple[Metrics, list[str]]:
    counts = (targets != splits.IGNORED_TOKEN).sum(axis=1).astype(float)
    figures: Metrics = {
        "perplexity": perplexity_of(losses, counts),
        "token-accuracy": Agreement(metrics.right_tokens, targets, tokens),
    }
    return figures, [" ".join(map(str, row)) for row in tokens.tolist()]


def _figures(
    figures: Metrics,
    count: int,
    lines: str,
    subject: str,
    skipped: dict[str, str],
    notes: Sequence[str],
    *,
    is_constant: bool,
) -> Figures:
    """Values and intervals of metrics; ``lines`` are the predictions, one row in each."""
    digest = hashlib.sha256(lines.encode()).hexdigest()
    seed = int(hashlib.sha256(f"{subject}{digest}".encode()).hexdigest()[:12], 16)
    rows = resampling.estimates(figures, count, seed)
    undefined = dict.fromkeys(figures.keys() - rows.keys(), "It is not defined for these targets.")
    return Figures(
        tuple(Figure.of(name, estimate) for name, estimate in rows.items()),
        skipped | undefined,
        list(map(Name, notes)),
        digest,
        seed,
        is_constant,
        _right_rows(figures),
    )


def _right_rows(figures: Metrics) -> str:
    """The rows that count as right for the accuracy; empty without one, and for too many rows."""
    accuracy = figures.get("accuracy")
    if not isinstance(accuracy, Share) or len(accuracy.hits) > pairs.MOST_ROWS:
        return ""
    return pairs.write(np.packbits(accuracy.hits).tobytes())


def _regression(targets: Array, values: Array) -> tuple[Metrics, dict[str, str], list[str]]:
    errors = np.abs(targets - values)
    squares = metrics.mean(errors**2)
    return (
        {
            "rmse": Error(
                lambda counts: np.sqrt(squares(counts)),
                metrics.log_mean(errors**2),
                lambda log: _exp(log / 2),
            ),
            "mae": mean_of(errors),
            "r2": determination_of(targets, values),
        },
        {},
        [],
    )


def mean_of(errors: Array, most: float = math.inf) -> Error:
    """The mean of errors, of which none is negative or larger than ``most``."""
    return Error(metrics.mean(errors), metrics.log_mean(errors), lambda log: min(_exp(log), most))


def _log_loss(targets: Array, probabilities: Array) -> Error:
    return mean_of(metrics.log_losses(targets, probabilities), metrics.MOST_LOSS)


def perplexity_of(losses: Array, tokens: Array) -> Error:
    """The exponential of the mean loss of a token; each row has a sum of losses, and its tokens."""
    mean = metrics.ratio(losses, tokens)
    return Error(lambda counts: np.exp(mean(counts)), metrics.mean_loss(losses, tokens), _exp)


def determination_of(targets: Array, values: Array) -> Error:
    """R²."""
    return Error(
        metrics.determination(targets, values),
        metrics.log_remainder(targets, values),
        lambda log: 1 - _exp(log),
    )


def _exp(log: float) -> float:
    return float(np.exp(log))


def _classification(
    targets: Array, predictions: Array, scores: Array | None, count: int
) -> tuple[Metrics, dict[str, str], list[str]]:
    most = max(count, int(predictions.max()) + 1)
    figures: Metrics = {
        "accuracy": Share(predictions == targets),
        "f1-macro": Agreement(metrics.macro_f1, targets, predictions),
    }
    if scores is None:
        names = ("top-5", "roc_auc", "log_loss") if most > metrics.TOP else ("roc_auc", "log_loss")
        return figures, dict.fromkeys(names, NO_SCORES), []
    if scores.shape[1] > metrics.TOP:
        figures["top-5"] = Share(metrics.in_top(targets, scores))
    skipped: dict[str, str] = {}
    notes: list[str] = []
    is_share = bool((scores >= 0).all() and (scores <= 1 + _SUM_TOLERANCE).all())
    sums = scores.sum(axis=1)
    if is_share and bool((np.abs(sums - 1) <= _SUM_TOLERANCE).all()):
        probabilities = np.asarray(scores)
    elif is_share:
        return figures, dict.fromkeys(("roc_auc", "log_loss"), NEITHER), notes
    else:
        probabilities = metrics.softmax(scores)
        notes.append(SOFTMAX)
    figures["log_loss"] = _log_loss(targets, probabilities)
    if scores.size > metrics.MOST_CURVE_VALUES:
        skipped["roc_auc"] = _TOO_MANY
    else:
        figures["roc_auc"] = Agreement(metrics.area, targets, probabilities)
    return figures, skipped, notes


def _binary(targets: Array, scores: Array, positive: int) -> tuple[Array, Metrics, list[str]]:
    """Predictions and metrics of one score for each row, which speaks for one of two classes."""
    shares, notes = _shares(scores)
    predictions = np.where(shares > 0.5, positive, 1 - positive)
    # In the order of the classes; ranks of scores are those of their shares, and finer.
    both = np.stack([1 - shares, shares] if positive else [shares, 1 - shares], axis=1)
    ranks = (scores if positive else -scores)[:, np.newaxis]
    return (
        predictions,
        {
            "accuracy": Share(predictions == targets),
            "f1-macro": Agreement(metrics.macro_f1, targets, predictions),
            "log_loss": _log_loss(targets, both),
            "roc_auc": Agreement(metrics.mean_area, (targets == 1)[:, np.newaxis], ranks),
        },
        notes,
    )


def _several(targets: Array, scores: Array) -> tuple[Array, Metrics, dict[str, str], list[str]]:
    """Predictions and metrics of a score for each row and label; a label counts above one half."""
    shares, notes = _shares(scores)
    predictions = (shares > 0.5).astype(np.int64)
    figures: Metrics = {
        "accuracy": Share((predictions == targets).all(axis=1)),
        "f1-macro": Agreement(partial(metrics.several_f1, is_micro=False), targets, predictions),
        "f1-micro": Agreement(partial(metrics.several_f1, is_micro=True), targets, predictions),
    }
    if scores.size > metrics.MOST_CURVE_VALUES:
        return predictions, figures, {"roc_auc": _TOO_MANY}, notes
    figures["roc_auc"] = Agreement(metrics.mean_area, targets == 1, scores)
    return predictions, figures, {}, notes


def _shares(scores: Array) -> tuple[Array, list[str]]:
    """Scores from 0 to 1 as they are; others as their sigmoid, with a note that says so."""
    if bool((scores >= 0).all() and (scores <= 1).all()):
        return scores, []
    return 0.5 * (1 + np.tanh(scores / 2)), [SIGMOID]


def _require_agreement(predictions: Array, numbers: Array | None) -> None:
    if numbers is not None and bool((predictions != numbers).any()):
        raise UnfitOutputError(
            "The label of the model is not the class that its score and the positive class of the "
            "split give."
        )


def _numbers(labels: Sequence[str], names: Sequence[str]) -> Array | None:
    """The classes of a model's labels; None where it gives none. Raises UnfitOutputError."""
    if not labels:
        return None
    try:
        table = classes.table(labels, names, of_model=True)
    except classes.UnknownClassError as error:
        raise UnfitOutputError(f"The model's labels cannot be compared: {error}.") from None
    return np.asarray([table[label] for label in labels], dtype=np.int64)


def _in_order(
    scores: Array, keys: Sequence[str], numbers: Array | None, names: Sequence[str]
) -> Array:
    """Scores with a column for each class in the order of the split. Raises UnfitOutputError.

    The keys of maps say which column is which class; else the model's own labels do, since they
    name the class of the greatest score; else the columns are in order.
    """
    if keys:
        try:
            table = classes.table(keys, names, of_model=True)
        except classes.UnknownClassError as error:
            raise UnfitOutputError(f"The model's classes cannot be compared: {error}.") from None
        order = [table[key] for key in keys]
        if sorted(order) != list(range(len(keys))):
            raise UnfitOutputError("The model's scores are not those of the split's classes.")
        return np.asarray(scores)[:, np.argsort(order)]
    if numbers is None:
        return np.asarray(scores)
    return _by_labels(np.asarray(scores), numbers)


def _by_labels(scores: Array, numbers: Array) -> Array:
    greatest = scores.max(axis=1, keepdims=True)
    is_clear = (scores == greatest).sum(axis=1) == 1
    pairs = np.unique(np.stack([scores.argmax(axis=1), numbers], axis=1)[is_clear], axis=0).tolist()
    column_of = {number: column for column, number in pairs}
    if len(column_of) != len(pairs) or len({column for column, _ in pairs}) != len(pairs):
        raise UnfitOutputError("The label of the model is not the class of its greatest score.")
    if all(column == number for number, column in column_of.items()):
        return scores
    width = scores.shape[1]
    open_columns = sorted(set(range(width)) - set(column_of.values()))
    open_classes = sorted(set(range(width)) - column_of.keys())
    if len(open_columns) > 1 or len(column_of.keys() - set(range(width))):
        raise UnfitOutputError(
            "The model's scores are in another order than the labels of the split, and its own "
            "labels do not show which."
        )
    column_of |= dict(zip(open_classes, open_columns, strict=True))
    return scores[:, [column_of[number] for number in range(width)]]
