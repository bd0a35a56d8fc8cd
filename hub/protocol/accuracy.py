"""The metrics of evaluations, and limits on measured accuracy such as `accuracy@digits:test=0.9`.

The grammar lives here and nowhere else: `metric[@dataset[@version][:split]]=value`. Without a data
set a limit holds on any; without a version or a split on any of the data set's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from hub.protocol import problems, vocabularies
from hub.protocol.splits import Task

# The metrics of a task in the order in which they are shown; some need scores, or many classes.
METRICS: Final[dict[Task, tuple[str, ...]]] = {
    "classification": ("accuracy", "top-5", "f1-macro", "roc_auc", "log_loss"),
    "multi-label-classification": ("accuracy", "f1-macro", "f1-micro", "roc_auc"),
    "regression": ("rmse", "mae", "r2"),
    "frame-classification": ("f1-micro", "roc_auc"),
    "pitch-estimation": ("rpa",),
    "text-recognition": ("accuracy", "wer", "cer"),
    "language-modelling": ("perplexity", "token-accuracy"),
    "object-detection": ("map", "map50"),
}
ALL: Final = tuple(dict.fromkeys(name for names in METRICS.values() for name in names))
# Those that lie from 0 to 1.
SHARES: Final = tuple(name for name in ALL if name in vocabularies.SHARES)
# Of these less is better.
ERRORS: Final = ("log_loss", "rmse", "mae", "wer", "cer", "perplexity")
# The metric that speaks for each task.
LEADING: Final = tuple(dict.fromkeys(names[0] for names in METRICS.values()))
# Names of cards for the same figure.
_SAME: Final = {"top-1": "accuracy"}
_LIMIT = re.compile(
    r"(?:accuracy:)?(?P<metric>[^@=]{1,60})"
    r"(?:@(?P<dataset>[A-Za-z0-9][\w-]{0,95})(?:@(?P<version>[1-9][0-9]{0,8}))?"
    r"(?::(?P<split>.{1,200}))?)?"
    r"=(?P<value>[^=]{1,40})",
    re.ASCII,
)
_NUMBER = re.compile(
    r"(-?(?:\d{1,15}(?:\.\d{0,20})?|\.\d{1,20})(?:e[+-]?\d{1,2})?)\s*(%?)", re.IGNORECASE
)
LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Limit:
    """What a metric must be at least, or at most where less of it is better.

    An empty data set or split, and a version of None, stand for any.
    """

    metric: str
    value: float
    dataset: str = ""
    version: int | None = None
    split: str = ""

    @property
    def is_maximum(self) -> bool:
        return self.metric in ERRORS

    @property
    def data(self) -> str:
        """The data set, version and split as they are written; empty for any."""
        number = f"@{self.version}" if self.version else ""
        return f"{self.dataset}{number}{f':{self.split}' if self.split else ''}"

    def __str__(self) -> str:
        return f"{self.metric}{f'@{self.data}' if self.data else ''}={self.value:.6g}"


def stated(value: float) -> float:
    """A figure with the six significant digits by which lists and graphs compare it."""
    return float(f"{value:.6g}")


def measured_as(metric: str) -> str:
    """The metric of an evaluation that a claimed one is; empty where there is none."""
    name = _SAME.get(metric, metric)
    return name if name in ALL else ""


def parse(text: str, parameter: str) -> Limit:
    """Read a limit of the parameter ``min`` or ``max``; raises InvalidRequest."""
    pointer = f"/{parameter}"
    match = _LIMIT.fullmatch(text.strip()) if len(text) <= LONGEST else None
    if match is None:
        example = "rmse@prices=3.5" if parameter == "max" else "accuracy@digits:test=0.9"
        raise problems.InvalidRequest.at(
            pointer,
            f"{text[:80]!r} is no limit. Write it as metric=value or metric@dataset:split=value, "
            f"such as {example}.",
        )
    written = match["metric"].strip().lower()
    metric = measured_as(vocabularies.metric_name(written))
    if not metric:
        raise problems.InvalidRequest.at(
            pointer, f"Evaluations have no metric {written!r}. Known: {', '.join(ALL)}."
        )
    limit = Limit(
        metric=metric,
        value=_number(match["value"].strip(), metric, pointer),
        dataset=(match["dataset"] or "").lower(),
        version=int(match["version"]) if match["version"] else None,
        split=(match["split"] or "").strip(),
    )
    if limit.is_maximum != (parameter == "max"):
        better, other = ("less", "max") if limit.is_maximum else ("more", "min")
        raise problems.InvalidRequest.at(
            pointer, f"Of {metric} {better} is better: give its limit as `{other}`."
        )
    return limit


def _number(written: str, metric: str, pointer: str) -> float:
    match = _NUMBER.fullmatch(written)
    value = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    is_share = metric in SHARES
    if not math.isfinite(value) or (is_share and not 0 <= value <= 1):
        what = "a share from 0 to 1, or a percentage: 0.9 or 90%" if is_share else "a number"
        raise problems.InvalidRequest.at(
            pointer, f"The limit of {metric} is {what}; not {written!r}."
        )
    return stated(value)
