"""What both sides of the sandbox know of evaluations; imports no library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hub.protocol.splits import Task

# A change of what the figures mean is a new method: results of two are not compared.
METHOD: Final = "1"
# The version path under which a job sees the files of the data set.
FOLDER: Final = ".data"
RESAMPLES: Final = 2_000
PERCENTILES: Final = (2.5, 97.5)
# The metrics of a task in the order in which they are shown; some need scores, or many classes.
METRICS: Final[dict[Task, tuple[str, ...]]] = {
    "classification": ("accuracy", "top-5", "f1-macro", "roc_auc", "log_loss"),
    "regression": ("rmse", "mae", "r2"),
}
ALL: Final = tuple(name for names in METRICS.values() for name in names)
# Those that lie from 0 to 1.
SHARES: Final = ("accuracy", "top-5", "f1-macro", "roc_auc")
# Names of cards for the same figure.
_SAME: Final = {"top-1": "accuracy"}


def measured_as(metric: str) -> str:
    """The metric of an evaluation that a claimed one is; empty where there is none."""
    name = _SAME.get(metric, metric)
    return name if name in ALL else ""
