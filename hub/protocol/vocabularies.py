"""The words that cards, pages and graphs share: tasks, licences, metrics and runtimes, each once.

Tasks and licence ids beyond SPDX's are those of Hugging Face (hub-docs, 2026-08).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from hub.protocol import benchmark_metrics
from hub.protocol.figures import Unit

Scale = Literal["share", "rate", "number"]


@dataclass(frozen=True, slots=True)
class Task:
    """A pipeline_tag: its domain, and the modalities of its inputs and outputs where it has any."""

    name: str
    domain: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its title, its scale, other names that people write, and its unit in QUDT.

    A share lies from 0 to 1; a rate is a fraction that may exceed 1, as of word errors; a number
    has no unit, or that of `unit`. `needs_no_dataset`: a value means something without data.
    """

    title: str
    scale: Scale
    aliases: tuple[str, ...] = ()
    unit: str = ""
    needs_no_dataset: bool = False


# Domain, modalities of inputs > of outputs, tasks.
_TASKS: Final = (
    ("audio", "audio > audio", "audio-to-audio"),
    ("audio", "audio > category", "audio-classification voice-activity-detection"),
    ("audio", "audio > text", "automatic-speech-recognition"),
    ("audio", "text > audio", "text-to-audio text-to-speech"),
    ("cv", "image > category", "image-classification zero-shot-image-classification"),
    ("cv", "image > category region", "keypoint-detection object-detection"),
    ("cv", "image > category region", "zero-shot-object-detection"),
    ("cv", "image > features", "image-feature-extraction"),
    ("cv", "image > image", "depth-estimation image-segmentation image-to-image mask-generation"),
    ("cv", "image > video", "image-to-video"),
    ("cv", "video > category", "video-classification"),
    ("cv", ">", "image-to-3d text-to-3d unconditional-image-generation video-to-video"),
    ("multimodal", "image > text", "image-to-text"),
    ("multimodal", "image text > text", "document-question-answering image-text-to-text"),
    ("multimodal", "image text > text", "visual-question-answering"),
    ("multimodal", "text > image", "text-to-image"),
    ("multimodal", "text > video", "text-to-video"),
    ("multimodal", "video text > text", "video-text-to-text"),
    ("multimodal", ">", "any-to-any audio-text-to-text visual-document-retrieval"),
    ("nlp", "text > category", "text-classification token-classification zero-shot-classification"),
    ("nlp", "text > features", "feature-extraction sentence-similarity text-ranking"),
    ("nlp", "text > text", "fill-mask question-answering summarization text-generation"),
    ("nlp", "text > text", "translation"),
    ("nlp", "text tabular > text", "table-question-answering"),
    ("nlp", ">", "multiple-choice table-to-text text-retrieval"),
    ("other", "graph > features", "graph-ml"),
    ("other", ">", "reinforcement-learning robotics"),
    ("tabular", "tabular > category", "tabular-classification"),
    ("tabular", "tabular > number", "tabular-regression"),
    ("tabular", "time-series > number", "time-series-forecasting"),
    ("tabular", ">", "tabular-to-text"),
    ("", ">", "other"),
)
TASKS: Final = {
    name: Task(name, domain, *(tuple(side.split()) for side in sides.split(">")))
    for name, domain, sides in sorted(
        (name, domain, sides) for domain, sides, names in _TASKS for name in names.split()
    )
}
TASKS_OF: Final = {
    domain: tuple(task.name for task in TASKS.values() if task.domain == domain)
    for domain in sorted({task.domain for task in TASKS.values()} - {""})
}
# ONNX's TypeDenotation -> modality.
DENOTED_MODALITIES: Final = {"IMAGE": "image", "AUDIO": "audio", "TEXT": "text"}
MODALITIES: Final = sorted({side for task in TASKS.values() for side in task.inputs + task.outputs})

_LICENCES: Final = """
    Apache-2.0 MIT openrail openrail++ bigscience-openrail-m creativeml-openrail-m
    bigscience-bloom-rail-1.0 bigcode-openrail-m AFL-3.0 Artistic-2.0 BSL-1.0 bsd BSD-2-Clause
    BSD-3-Clause BSD-3-Clause-Clear c-uda cc CC0-1.0 CC-BY-2.0 CC-BY-2.5 CC-BY-3.0 CC-BY-4.0
    CC-BY-SA-3.0 CC-BY-SA-4.0 CC-BY-NC-2.0 CC-BY-NC-3.0 CC-BY-NC-4.0 CC-BY-ND-4.0
    CC-BY-NC-ND-3.0 CC-BY-NC-ND-4.0 CC-BY-NC-SA-2.0 CC-BY-NC-SA-3.0 CC-BY-NC-SA-4.0
    CDLA-Sharing-1.0 CDLA-Permissive-1.0 CDLA-Permissive-2.0 WTFPL ECL-2.0 EPL-1.0 EPL-2.0
    etalab-2.0 EUPL-1.1 EUPL-1.2 AGPL-3.0 AGPL-3.0-only gfdl gpl GPL-2.0 GPL-2.0-only GPL-3.0
    GPL-3.0-only GPL-3.0-or-later lgpl LGPL-2.1 LGPL-3.0 LGPL-3.0-only ISC h-research
    intel-research LPPL-1.3c MS-PL apple-ascl apple-amlr MPL-2.0 odc-by odbl openmdw-1.0 OSL-3.0
    PostgreSQL OFL-1.1 NCSA Unlicense Zlib pddl lgpl-lr deepfloyd-if-license
    fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 gemma
    unknown other
"""
# As SPDX writes those that it has, else as Hugging Face does.
LICENCES: Final = tuple(_LICENCES.split())
# What cards and lists write -> its spelling in LICENCES.
LICENCE_OF: Final = {name.lower(): name for name in LICENCES}

# What cards report. Names follow Hugging Face's evaluate and the graphs of earlier releases.
REPORTED_METRICS: Final = {
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
    "token-accuracy": Metric("Next-token accuracy", "share", ("next-token-accuracy",)),
    "rpa": Metric("Raw pitch accuracy", "share", ("raw-pitch-accuracy",)),
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
    "r2": Metric("Coefficient of determination", "number", ("r-squared", "r2-score", "r-2")),
    "perplexity": Metric("Perplexity", "number", ("ppl",)),
}
_SEPARATOR: Final = re.compile(r"[\s_-]+")
_METRIC_OF: Final = {
    _SEPARATOR.sub("-", alias): name
    for name, metric in REPORTED_METRICS.items()
    for alias in (name, *metric.aliases)
}
# Of these more is better.
SHARES: Final = frozenset(n for n, metric in REPORTED_METRICS.items() if metric.scale == "share")
# What the hub's workers take.
MEASURED_METRICS: Final = {
    name: Metric(title, "number", (), unit, needs_no_dataset=True)
    for name, title, unit in (
        *(
            (metric.name, metric.title, metric.unit)
            for metric in benchmark_metrics.ALL
            if metric.title
        ),
        ("max-abs-difference", "Largest absolute difference of outputs", "NUM"),
        ("max-rel-difference", "Largest relative difference of outputs", "NUM"),
        (
            "max-ulp-difference",
            "Largest difference of outputs in units in the last place",
            "NUM",
        ),
        ("cosine-similarity", "Least cosine similarity of outputs", "NUM"),
        ("top1-agreement", "Share of samples whose greatest output is the same", "FRACTION"),
        ("accuracy-before", "Accuracy of the weights that were released before", "FRACTION"),
        ("accuracy-change", "Median change of accuracy over devices", "FRACTION"),
        ("devices-worse", "Share of devices whose accuracy fell", "FRACTION"),
    )
}
METRICS: Final = REPORTED_METRICS | MEASURED_METRICS

ONNXRUNTIME: Final = "onnxruntime"
ONNXRUNTIME_WEB: Final = "onnxruntime-web"
REFERENCE: Final = "onnx-reference"
OPENVINO: Final = "openvino"
# Name -> title.
RUNTIMES: Final = {
    ONNXRUNTIME: "ONNX Runtime",
    ONNXRUNTIME_WEB: "ONNX Runtime Web",
    REFERENCE: "ONNX reference",
    OPENVINO: "OpenVINO",
}


def task_name(written: str) -> str:
    """The name of a task in cards, lists and addresses: a known one whatever its spelling.

    Blanks, underscores and capitals may differ; a task that the vocabulary lacks stays as written.
    """
    text = written.strip()
    name = _SEPARATOR.sub("-", text.lower())
    return name if name in TASKS else text


def metric_name(written: str) -> str:
    """The name of a metric in addresses: that of the vocabulary for each of its aliases."""
    name = written.strip().lower()
    return _METRIC_OF.get(_SEPARATOR.sub("-", name)) or name.replace(" ", "-")


def unit_of(metric: str) -> Unit:
    """The unit of a reported metric: shares and rates are fractions of one."""
    entry = REPORTED_METRICS.get(metric)
    return Unit.NUMBER if entry is None or entry.scale == "number" else Unit.SHARE
