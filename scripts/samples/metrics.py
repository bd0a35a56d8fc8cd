"""Numbers about a classifier on its held-out rows, rounded once, where they are made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _wilson(correct: int, total: int) -> list[float]:
    """95 % Wilson score interval of a share; honest for small held-out sets."""
    z = 1.959964
    share = correct / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    return [round(middle - half, 4), round(min(1.0, middle + half), 4)]


def classification(y: NDArray[np.int64], probabilities: NDArray[np.floating]) -> dict[str, object]:
    """Accuracy with its interval, log loss (nats per row) and the confusion matrix."""
    predicted = probabilities.argmax(axis=1)
    correct = int((predicted == y).sum())
    # float32 rows sum to 1 only nearly
    exact = probabilities.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    return {
        "accuracy": round(correct / len(y), 4),
        "accuracy_interval_95": _wilson(correct, len(y)),
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
