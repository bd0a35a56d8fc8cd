"""Metrics against figures of scikit-learn 1.9.1, with rows that count several times."""

from __future__ import annotations

import numpy as np
import pytest

from runners.engine.evaluation import metrics

TARGETS = np.array([0, 1, 2, 2, 1, 0, 3, 3, 1, 0, 2, 1])
SCORES = np.array(
    [
        [0.70, 0.10, 0.10, 0.10], [0.20, 0.50, 0.20, 0.10], [0.10, 0.20, 0.60, 0.10],
        [0.40, 0.30, 0.20, 0.10], [0.20, 0.20, 0.50, 0.10], [0.40, 0.40, 0.10, 0.10],
        [0.10, 0.10, 0.20, 0.60], [0.30, 0.20, 0.20, 0.30], [0.10, 0.80, 0.05, 0.05],
        [0.55, 0.15, 0.15, 0.15], [0.25, 0.25, 0.45, 0.05], [0.50, 0.30, 0.10, 0.10],
    ]
)  # fmt: skip
ONCE = np.ones((1, 12))
# f1_score, roc_auc_score and log_loss of these rows, averages "macro" and classes "ovr".
F1 = 0.6666666666666666
ROC = 0.9107349537037037
LOG_LOSS = 0.8528394821427074
ROC_OF_TWO = 0.734375


def test_figures_of_a_classifier_are_those_of_scikit_learn():
    predictions = SCORES.argmax(axis=1)
    assert metrics.macro_f1(TARGETS, predictions)(ONCE)[0] == pytest.approx(F1)
    assert metrics.area(TARGETS, SCORES)(ONCE)[0] == pytest.approx(ROC)
    assert metrics.log_losses(TARGETS, SCORES).mean() == pytest.approx(LOG_LOSS)
    two = SCORES[:, :2] / SCORES[:, :2].sum(axis=1, keepdims=True)
    assert metrics.area((TARGETS == 1).astype(int), two)(ONCE)[0] == pytest.approx(ROC_OF_TWO)


def test_a_row_that_counts_twice_is_a_row_that_stands_twice():
    counts = np.array([[2, 0, 1, 3, 1, 1, 0, 1, 0, 1, 1, 1]], dtype=float)
    rows = np.repeat(np.arange(12), counts[0].astype(int))
    targets, scores = TARGETS[rows], SCORES[rows]
    predictions = SCORES.argmax(axis=1)
    pairs = [
        (metrics.area(TARGETS, SCORES), metrics.area(targets, scores)),
        (metrics.macro_f1(TARGETS, predictions), metrics.macro_f1(targets, predictions[rows])),
        (
            metrics.determination(TARGETS, SCORES[:, 0]),
            metrics.determination(targets, scores[:, 0]),
        ),
    ]
    for weighted, repeated in pairs:
        assert weighted(counts)[0] == pytest.approx(repeated(np.ones((1, len(rows))))[0])


def test_r2_of_equal_targets_is_not_defined():
    equal = np.full(7, 0.1)
    assert np.isnan(metrics.determination(equal, np.arange(7.0))(np.ones((1, 7)))[0])


def test_an_area_needs_two_classes():
    alone = np.zeros(12, dtype=int)
    assert np.isnan(metrics.area(alone, SCORES[:, :2])(ONCE)[0])


def test_a_label_that_never_occurs_counts_as_0_among_several_labels():
    targets = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]])
    given = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 0]])
    once = np.ones((1, 6))
    # f1_score of these rows, averages "macro" and "micro".
    macro = metrics.several_f1(targets, given, is_micro=False)(once)[0]
    micro = metrics.several_f1(targets, given, is_micro=True)(once)[0]
    assert (macro, micro) == (pytest.approx(0.4444444444444444), pytest.approx(0.6666666666666666))
    counts = np.array([[0.0, 2.0, 1.0, 3.0, 0.0, 1.0]])
    rows = np.repeat(np.arange(6), counts[0].astype(int))
    repeated = metrics.several_f1(targets[rows], given[rows], is_micro=False)
    weighted = metrics.several_f1(targets, given, is_micro=False)(counts)[0]
    assert weighted == pytest.approx(repeated(np.ones((1, len(rows))))[0])


def test_edits_are_those_of_the_textbook_on_random_words():
    """The table of Wagner and Fischer (1974), cell by cell."""
    random = np.random.default_rng(7)
    for _ in range(200):
        target, answer = (random.integers(0, 5, random.integers(0, 9)).tolist() for _ in range(2))
        table = np.add.outer(np.arange(len(target) + 1), np.arange(len(answer) + 1))
        for row, part in enumerate(target, 1):
            for column, other in enumerate(answer, 1):
                table[row, column] = min(
                    table[row - 1, column] + 1,
                    table[row, column - 1] + 1,
                    table[row - 1, column - 1] + (part != other),
                )
        assert metrics.edits(target, answer) == table[-1, -1]
