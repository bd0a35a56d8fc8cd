"""The metrics that cards report: one vocabulary of names, their aliases, and one scale for each.

A share is told as a fraction from 0 to 1, whether somebody writes 66.6, 66.6 per cent or 0.666.
Names follow Hugging Face's evaluate and the graphs of earlier releases.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from decimal import Decimal

Scale = Literal["share", "rate", "number"]
UNITS: Final = ("fraction", "percent")


class Metric(NamedTuple):
    """A metric: its title, its scale, and other names that people write.

    A share lies from 0 to 1; a rate is a fraction that may exceed 1, as of word errors; a number
    has no unit.
    """

    title: str
    scale: Scale
    aliases: tuple[str, ...] = ()


REPORTED: Final = {
    "accuracy": Metric("Accuracy", "share", ("acc", "exact-accuracy", "test-accuracy")),
    "balanced-accuracy": Metric("Balanced accuracy", "share", ("balanced-acc", "bacc")),
    "top-1": Metric(
        "Top-1 accuracy",
        "share",
        ("top1", "top-1-accuracy", "top1-accuracy", "acc@1", "accuracy@1", "top-1-acc", "top1-acc"),
    ),
    "top-5": Metric(
        "Top-5 accuracy",
        "share",
        ("top5", "top-5-accuracy", "top5-accuracy", "acc@5", "accuracy@5", "top-5-acc", "top5-acc"),
    ),
    "precision": Metric("Precision", "share"),
    "recall": Metric("Recall", "share", ("sensitivity", "tpr", "true-positive-rate")),
    "specificity": Metric("Specificity", "share", ("tnr", "true-negative-rate")),
    "f1": Metric("F1 score", "share", ("f1-score", "f-score", "f-measure")),
    "f1-macro": Metric("F1 score, macro average", "share", ("macro-f1", "f1-score-macro")),
    "f1-micro": Metric("F1 score, micro average", "share", ("micro-f1", "f1-score-micro")),
    "f1-weighted": Metric("F1 score, weighted average", "share", ("weighted-f1",)),
    "auc": Metric("Area under the curve", "share"),
    "roc_auc": Metric("Area under the ROC curve", "share", ("auroc", "auc-roc")),
    "pr-auc": Metric("Area under the precision-recall curve", "share", ("auprc", "auc-pr")),
    "map": Metric("Mean average precision", "share", ("mean-average-precision", "map@0.5:0.95")),
    "map50": Metric("Mean average precision at IoU 0.5", "share", ("map@0.5", "map@50", "ap50")),
    "mean-iou": Metric("Mean intersection over union", "share", ("miou",)),
    "exact-match": Metric("Exact match", "share", ("em",)),
    "bleu": Metric("BLEU", "share", ("sacrebleu", "bleu-score")),
    "rouge1": Metric("ROUGE-1", "share", ("rouge-1",)),
    "rouge2": Metric("ROUGE-2", "share", ("rouge-2",)),
    "rougel": Metric("ROUGE-L", "share", ("rouge-l",)),
    "wer": Metric("Word error rate", "rate", ("word-error-rate",)),
    "cer": Metric("Character error rate", "rate", ("character-error-rate",)),
    "log_loss": Metric("Log loss", "number", ("cross-entropy",)),
    "loss": Metric("Loss", "number", ("eval-loss", "test-loss")),
    "mae": Metric("Mean absolute error", "number", ("mean-absolute-error",)),
    "mse": Metric("Mean squared error", "number", ("mean-squared-error",)),
    "rmse": Metric("Root mean squared error", "number", ("root-mean-squared-error",)),
    "perplexity": Metric("Perplexity", "number", ("ppl",)),
}
SHARES: Final = frozenset(name for name, one in REPORTED.items() if one.scale == "share")
_SEPARATOR = re.compile(r"[\s_-]+")
_SLUGS = {
    _SEPARATOR.sub("-", alias): name
    for name, one in REPORTED.items()
    for alias in (name, *one.aliases)
}


def canonical(name: str) -> str:
    """The name of a metric in addresses: that of the vocabulary for each of its aliases."""
    written = name.strip().lower()
    return _SLUGS.get(_SEPARATOR.sub("-", written)) or written.replace(" ", "-")


def scale_of(name: str) -> Scale:
    """The scale of a metric; a number for one that the vocabulary lacks."""
    known = REPORTED.get(canonical(name))
    return known.scale if known else "number"


def unit_of(written: object) -> str:
    """One of UNITS as a card writes it; empty for whatever else."""
    word = written.strip().lower() if isinstance(written, str) else ""
    word = {"%": "percent", "per cent": "percent"}.get(word, word)
    return word if word in UNITS else ""


def scaled(name: str, value: Decimal, unit: str = "") -> tuple[Decimal, str]:
    """A reported value on the metric's own scale, and ``percent`` where it was reported so.

    Without a unit a share or rate above 1 and up to 100 is taken for per cent.
    """
    guessed = not unit and scale_of(name) != "number" and 1 < value <= 100
    if unit == "percent" or guessed:
        return value / 100, "percent"
    return value, ""
