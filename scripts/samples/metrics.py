"""Numbers about a classifier on its held-out rows, rounded once, where they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

from hub.protocol import intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray


def classification(y: NDArray[np.int64], probabilities: NDArray[np.floating]) -> dict[str, object]:
    """Accuracy with its interval, log loss (nats per row) and the confusion matrix."""
    predicted = probabilities.argmax(axis=1)
    correct = int((predicted == y).sum())
    # float32 rows sum to 1 only nearly
    exact = probabilities.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    return {
        "accuracy": round(correct / len(y), 4),
        "accuracy_interval": _interval(correct, len(y)),
        "correct": correct,
        "held_out": len(y),
        "log_loss": round(float(log_loss(y, exact)), 4),
        "confusion": confusion_matrix(y, predicted).tolist(),
    }


def of_class(
    y: NDArray[np.int64], probabilities: NDArray[np.floating], label: int
) -> dict[str, object]:
    """Precision and recall of one class, and the area under its ROC curve."""
    truth = y == label
    predictions = probabilities.argmax(axis=1) == label
    hits = int((truth & predictions).sum())
    return {
        "precision": round(hits / int(predictions.sum()), 4),
        "recall": round(hits / int(truth.sum()), 4),
        "missed": int((truth & ~predictions).sum()),
        "false_alarms": int((~truth & predictions).sum()),
        "roc_auc": round(float(roc_auc_score(truth, probabilities[:, label])), 4),
    }


def _interval(correct: int, total: int) -> dict[str, object]:
    of = intervals.proportion(correct, total)
    return {
        "low": round(of.low, 4),
        "high": round(of.high, 4),
        "level": int(of.level),
        "method": str(of.method),
    }
