"""Metrics of predictions: functions of how often each row counts.

The same code gives the value, with each row once, and the resamples of `resampling`. Definitions
are those of scikit-learn's `metrics`: F1 is the mean over the classes that occur in targets or
predictions, the area under the ROC curve the mean over the classes of each against the rest, with
ties as halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hub.protocol import splits

Array = np.ndarray[Any, Any]
Metric = Callable[[Array], Array]

TOP = 5
# How far a pitch may be from the true one, in hundredths of a semitone.
CENTS = 50
# Values that are sorted for areas under curves: rows times classes.
MOST_CURVE_VALUES = 1_000_000
# Those of frames, which are sorted once and counted again for each draw of rows.
MOST_FRAME_VALUES = 100_000
_LEAST = float(np.finfo(np.float64).eps)
# The logarithmic loss of a row whose class has this probability or less, in nats.
MOST_LOSS = float(-np.log(_LEAST))


def mean(of: Array) -> Metric:
    """The mean of a number for each row."""
    return lambda counts: counts @ of / counts.sum(axis=1)


def log_mean(of: Array) -> Callable[[Array], tuple[Array, Array]]:
    """The logarithm of the mean of a number for each row, with its standard error."""

    def logarithm(counts: Array) -> tuple[Array, Array]:
        rows = counts.sum(axis=1)
        means = counts @ of / rows
        squares = np.maximum(counts @ of**2 / rows / means**2 - 1, 0)
        return np.log(means), np.sqrt(squares / rows)

    return logarithm


def log_remainder(targets: Array, values: Array) -> Callable[[Array], tuple[Array, Array]]:
    """The logarithm of 1 - R², with its standard error by linearisation."""
    errors = (targets - values) ** 2

    def logarithm(counts: Array) -> tuple[Array, Array]:
        rows = counts.sum(axis=1)
        centred = (targets - (counts @ targets / rows)[:, np.newaxis]) ** 2
        means, variances = counts @ errors / rows, (counts * centred).sum(axis=1) / rows
        away = errors / means[:, np.newaxis] - centred / variances[:, np.newaxis]
        squares = (counts * away**2).sum(axis=1) / rows
        return np.log(means / variances), np.sqrt(squares / rows)

    return logarithm


def determination(targets: Array, values: Array) -> Metric:
    """R²: 1 less the share of the targets' variance that remains; undefined without variance."""
    errors = (targets - values) ** 2
    centred = targets - targets.mean()

    def metric(counts: Array) -> Array:
        whole = counts.sum(axis=1)
        variance = counts @ centred**2 - (counts @ centred) ** 2 / whole
        # What rounding leaves of equal targets is no variance.
        least = _LEAST * (counts @ centred**2)
        return _share(variance - counts @ errors, np.where(variance > least, variance, 0.0))

    return metric


def macro_f1(targets: Array, predictions: Array) -> Metric:
    """The mean of the F1 scores of the classes that occur."""
    different = np.union1d(targets, predictions)
    hits = (targets == predictions).astype(np.float64)
    per_target = _sums(np.searchsorted(different, targets), len(different))
    per_prediction = _sums(np.searchsorted(different, predictions), len(different))

    def metric(counts: Array) -> Array:
        both = per_target(counts) + per_prediction(counts)
        scores = _share(2 * per_target(counts * hits), both)
        return np.asarray(np.nanmean(scores, axis=1))

    return metric


def several_f1(targets: Array, predictions: Array, *, is_micro: bool) -> Metric:
    """F1 of several labels for each row: the mean over labels, or of all labels as one.

    A label that occurs in no target and no prediction counts as 0, as scikit-learn has it.
    """
    hits, both = (targets & predictions).astype(np.float64), (targets + predictions).astype(float)

    def metric(counts: Array) -> Array:
        right, whole = counts @ hits, counts @ both
        if is_micro:
            right, whole = right.sum(axis=1), whole.sum(axis=1)
            return np.nan_to_num(_share(2 * right, whole))
        return np.asarray(np.nan_to_num(_share(2 * right, whole)).mean(axis=1))

    return metric


def area(targets: Array, scores: Array) -> Metric:
    """The area under the ROC curve: of class 1, or the mean over classes, each against the rest."""
    columns = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    return mean_area((targets[:, np.newaxis] == np.asarray(columns)), scores[:, columns])


def mean_area(positive: Array, scores: Array) -> Metric:
    """The mean of the areas of columns, each with positive and other rows; others are left out."""
    totals = positive.sum(axis=0)
    columns = np.flatnonzero((totals > 0) & (totals < len(positive)))
    curves = [_curve(positive[:, column], scores[:, column]) for column in columns]

    def metric(counts: Array) -> Array:
        total, defined = np.zeros(len(counts)), np.zeros(len(counts))
        for curve in curves:
            own = curve(counts)
            total += np.nan_to_num(own)
            defined += np.isfinite(own)
        return _share(total, defined)

    return metric


def raw_pitch(targets: Array, pitches: Array) -> Metric:
    """The share of voiced frames whose pitch is within 50 cents, of ``[rows, frames]`` in hertz.

    Source: Salamon et al., Melody Extraction from Polyphonic Music Signals, 2014, section V.
    """
    is_voiced = targets > 0
    is_pitch = is_voiced & (pitches > 0)
    ratios = np.divide(pitches, targets, out=np.ones_like(targets), where=is_pitch)
    hits = is_pitch & (np.abs(1200 * np.log2(ratios)) <= CENTS)
    right, voiced = hits.sum(axis=1).astype(float), is_voiced.sum(axis=1).astype(float)
    return lambda counts: _share(counts @ right, counts @ voiced)


def frames_area(targets: Array, scores: Array) -> Metric:
    """The area under the ROC curve of all frames and labels; rows are drawn, not frames."""
    width = targets.shape[1]
    of_values = mean_area((targets == 1).reshape(-1, 1), scores.reshape(-1, 1))
    return lambda counts: np.concatenate(
        [of_values(np.repeat(draw, width)[np.newaxis]) for draw in counts]
    )


def log_ratio(parts: Array, wholes: Array) -> Callable[[Array], tuple[Array, Array]]:
    """The logarithm of a ratio of sums, with its standard error by linearisation."""

    def logarithm(counts: Array) -> tuple[Array, Array]:
        part, whole = counts @ parts, counts @ wholes
        away = parts / part[:, np.newaxis] - wholes / whole[:, np.newaxis]
        return np.log(part / whole), np.sqrt((counts * away**2).sum(axis=1))

    return logarithm


def ratio(parts: Array, wholes: Array) -> Metric:
    """A ratio of sums."""
    return lambda counts: _share(counts @ parts, counts @ wholes)


def mean_loss(losses: Array, tokens: Array) -> Callable[[Array], tuple[Array, Array]]:
    """The mean loss of a token, the logarithm of the perplexity, with its standard error.

    ``losses`` and ``tokens`` are the sum of the losses of each row and the number of its tokens:
    rows are drawn, so the error is that of a ratio of sums, by linearisation.
    """

    def logarithm(counts: Array) -> tuple[Array, Array]:
        whole = counts @ tokens
        means = counts @ losses / whole
        away = (losses - means[:, np.newaxis] * tokens) / whole[:, np.newaxis]
        return means, np.sqrt((counts * away**2).sum(axis=1))

    return logarithm


def right_tokens(targets: Array, tokens: Array) -> Metric:
    """The share of the predicted tokens that are the true ones, of ``[rows, tokens]``."""
    is_counted = targets != splits.IGNORED_TOKEN
    right = (is_counted & (targets == tokens)).sum(axis=1).astype(float)
    return ratio(right, is_counted.sum(axis=1).astype(float))


def edits(target: Sequence[str], answer: Sequence[str]) -> int:
    """How many parts are replaced, inserted or left out (Levenshtein, 1966).

    The parts are the characters of texts, or their words.
    """
    before = np.arange(len(answer) + 1)
    numbers = {part: number for number, part in enumerate(dict.fromkeys([*target, *answer]))}
    codes = np.array([numbers[part] for part in answer], dtype=np.int64)
    for place, part in enumerate(target, start=1):
        own = np.minimum(before[:-1] + (codes != numbers[part]), before[1:] + 1)
        row = np.append([place], own)
        # An insertion follows the best place before: a running minimum of what is left of it.
        before = np.minimum.accumulate(row - np.arange(len(row))) + np.arange(len(row))
    return int(before[-1])


def _curve(positive: Array, scores: Array) -> Metric:
    order = np.argsort(scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, [True]))
    starts = np.append([0], ends[:-1] + 1)
    yes = positive[order].astype(np.float64)

    def area_of(counts: Array) -> Array:
        in_order = counts[:, order]
        hits = np.add.reduceat(in_order * yes, starts, axis=1)
        others = np.add.reduceat(in_order * (1 - yes), starts, axis=1)
        # Of each tied group, its positives beat all negatives below and half of its own.
        below = np.cumsum(others, axis=1) - others / 2
        return _share((hits * below).sum(axis=1), hits.sum(axis=1) * others.sum(axis=1))

    return area_of


def _sums(groups: Array, count: int) -> Callable[[Array], Array]:
    """Sums of the columns of each group; ``groups`` are numbers below ``count``."""
    order = np.argsort(groups, kind="stable")
    own, starts = np.unique(groups[order], return_index=True)

    def sums(values: Array) -> Array:
        result = np.zeros((len(values), count))
        result[:, own] = np.add.reduceat(values[:, order], starts, axis=1)
        return result

    return sums


def _share(part: Array, whole: Array) -> Array:
    """A quotient; NaN where the whole is 0."""
    shares: Array = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole != 0)
    return shares


def log_losses(targets: Array, probabilities: Array) -> Array:
    """The negative logarithm of the probability of each row's class, in nats; at most 36.04."""
    own = probabilities[np.arange(len(targets)), targets] / probabilities.sum(axis=1)
    losses: Array = -np.log(np.clip(own, _LEAST, 1.0))
    return losses


def softmax(scores: Array) -> Array:
    """Scores as probabilities that sum to 1."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = powers / powers.sum(axis=1, keepdims=True)
    return shares


def in_top(targets: Array, scores: Array) -> Array:
    """Whether each row's class has one of the five greatest scores; of ties the first counts."""
    own = scores[np.arange(len(targets)), targets][:, np.newaxis]
    earlier = np.arange(scores.shape[1]) < targets[:, np.newaxis]
    better = (scores > own).sum(axis=1) + ((scores == own) & earlier).sum(axis=1)
    hits: Array = (better < TOP).astype(np.float64)
    return hits
