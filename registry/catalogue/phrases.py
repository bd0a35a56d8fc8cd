"""The words by which people name filters of the list: the tables of `registry.catalogue.wording`.

A phrase is a tuple of lower-case words; what it means is a parameter of the list and its value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hub.protocol.vocabularies import LICENCES, RUNTIMES, TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Phrase = tuple[str, ...]
Meaning = tuple[str, str]

# Task -> what people call models of it, in the singular where there is a plural.
_TASKS: Final = {
    "image-classification": "image classifier, picture classifier, photo classifier, "
    "image recognition, classify image, classify photo",
    "object-detection": "object detector, detect object, detecting object",
    "image-segmentation": "image segmenter, semantic segmentation, instance segmentation, "
    "segment image, panoptic segmentation",
    "depth-estimation": "depth estimator, monocular depth",
    "keypoint-detection": "keypoint detector, pose estimation, pose estimator",
    "video-classification": "video classifier",
    "audio-classification": "audio classifier, sound classifier, sound classification, "
    "classify sound, keyword spotting",
    "automatic-speech-recognition": "speech recognition, speech recogniser, speech recognizer, "
    "speech to text, transcription, asr",
    "text-to-speech": "tts, speech synthesis",
    "voice-activity-detection": "voice activity detector",
    "text-classification": "text classifier, sentiment analysis, sentiment classifier, "
    "classify text, sentence classifier",
    "token-classification": "token classifier, named entity recognition, ner",
    "feature-extraction": "feature extractor, text embedding, embedding model, sentence embedding",
    "image-feature-extraction": "image embedding, image feature extractor",
    "question-answering": "question answering, qa model",
    "summarization": "summarisation, summariser, summarizer",
    "translation": "translator, machine translation",
    "text-generation": "language model, text generator, llm",
    "text-ranking": "reranker, re-ranker",
    "tabular-classification": "tabular classifier, table classifier, classify table",
    "tabular-regression": "tabular regressor, tabular regression",
    "time-series-forecasting": "time series forecaster, forecasting, time series prediction",
    "image-to-text": "image captioning, image caption",
    "text-to-image": "image generation, image generator",
}
_DOMAINS: Final = {
    "cv": "computer vision, vision model",
    "nlp": "nlp, natural language processing, nlp model",
    "audio": "audio model, sound model",
    "tabular": "tabular model, tabular data",
    "multimodal": "multimodal model",
}
_RUNTIME_NAMES: Final = {
    "onnxruntime": "ort, onnx runtime cpu",
    "onnxruntime-web": "the browser, a browser, browser, browsers, the web, onnx runtime web",
    "onnx-reference": "the reference",
}
_RUNS: Final = (
    "runs on, run on, running on, runs in, run in, running in, works on, works in, works with, "
    "passes on, pass on, passing on, compatible with"
)
_FAILS: Final = "fails on, fail on, failing on, broken on"
_PERSONAL: Final = {
    "yes": "trained on personal data, with personal data, uses personal data, personal data",
    "no": "no personal data, without personal data, not trained on personal data, "
    "free of personal data",
    "anonymised": "anonymised data, anonymized data, trained on anonymised data, "
    "anonymised personal data, trained on anonymized data, anonymized personal data",
}
_EVIDENCE: Final = {
    "federated": "federated learning, federated training, trained federated, "
    "trained in federated rounds, federated model",
    "carbon": "declared carbon, carbon declared, with training carbon",
    "upgrade": "opset upgrade ready, upgrade ready",
}
_PRECISIONS: Final = {
    "fp32": "fp32, float32, single precision",
    "fp16": "fp16, float16, half precision",
    "int8": "int8, 8-bit, 8 bit",
}
_LICENCE_NAMES: Final = {"apache-2.0": "apache 2.0, apache2.0"}
_LICENCE_WORDS: Final = ("licence", "license", "licensed")
# A name that nobody gives a model: words, then a number after a hyphen.
_PLAIN_LICENCE: Final = re.compile(r"[a-z][a-z-]*-\d(\.\d)?(-[a-z-]+)?", re.ASCII)

_SORT_VERBS: Final = "sorted by, sort by, ordered by, order by"
_SORT_NOUNS: Final = {
    "fastest": "latency, speed, p50",
    "size": "size, file size",
    "downloads": "downloads, popularity",
    "name": "name",
    "carbon": "carbon",
    "memory": "memory",
    "parameters": "parameters",
    "macs": "macs, operations",
    "accuracy": "accuracy",
}
_SORTS: Final = {
    "fastest": "low latency, lowest latency, high speed",
    "downloads": "most downloaded, most popular",
    "carbon": "least carbon, low carbon, lowest carbon",
    "memory": "least memory, low memory, lowest memory, memory efficient",
    "macs": "fewest operations, fewest macs",
    "parameters": "fewest parameters, few parameters",
}
# These are read only where they describe what follows, see `wording`: a model may be named so.
ADJECTIVES: Final = {
    word: ("sort", sort)
    for sort, words in {
        "fastest": "fast faster fastest quick quickest real-time realtime",
        "size": "small smaller smallest tiny tiniest lightweight light compact",
        "accuracy": "accurate",
        "downloads": "popular",
    }.items()
    for word in words.split()
}
DESCRIBED: Final = frozenset(["model", "models", "network", "networks", "net", "nets"])
BETWEEN: Final = frozenset(("and", "but", "most", "very"))
# Dropped from the text that is left over where something was read.
_FILLERS: Final = (
    "a an the for with and or but that which is are be of in on by using use uses to me i "
    "we my find show want need looking look some any model models network networks has "
    "have having its it takes take taking trained very most can "
)
FILLERS: Final = frozenset(_FILLERS.split())

MAXIMA: Final = frozenset(
    tuple(words.split())
    for words in [
        "under",
        "below",
        "less than",
        "fewer than",
        "at most",
        "up to",
        "smaller than",
        "lighter than",
        "faster than",
        "lower than",
        "within",
        "maximum",
        "max",
        "max.",
        "no more than",
        "not more than",
        "no larger than",
        "not over",
        "in under",
        "<",
        "<=",
        "≤",
        "≤=",
    ]
)
MINIMA: Final = frozenset(
    tuple(words.split())
    for words in [
        "over",
        "above",
        "more than",
        "at least",
        "greater than",
        "higher than",
        "better than",
        "minimum",
        "min",
        "min.",
        "no less than",
        "not less than",
        "exceeding",
        ">",
        ">=",
        "≥",
        "≥=",
    ]
)
AFTER_MAXIMA: Final = frozenset(
    tuple(words.split())
    for words in [
        "or less",
        "or fewer",
        "or smaller",
        "or lower",
        "or faster",
        "max",
        "maximum",
        "at most",
    ]
)
AFTER_MINIMA: Final = frozenset(
    tuple(words.split()) for words in ["or more", "or better", "or higher", "min", "at least"]
)
# What a quantity is of, before or after its number.
SUBJECTS: Final[dict[Phrase, str]] = {
    tuple(words.split()): subject
    for subject, names in {
        "size": "size, file size, files, file, download, download size, model size, disk, storage",
        "memory": "memory, ram, peak memory, memory use",
        "latency": "latency, median latency, p50, inference time, inference, per inference",
        "parameters": "parameters, parameter, params, weights",
        "macs": "macs, mac, operations, ops, multiply-accumulates",
        "opset": "opset",
        "accuracy": "accuracy, accurate, top-1, top1, top-1 accuracy",
        "top-5": "top-5, top5, top-5 accuracy",
        "f1-macro": "f1, f1 score, f1-macro, macro f1",
        "roc_auc": "roc auc, auroc, roc_auc",
        "log_loss": "log loss, log_loss",
        "rmse": "rmse",
        "mae": "mae",
        "r2": "r2",
    }.items()
    for words in names.split(", ")
}
# Unit -> how many of the filter's own unit it has.
BYTES: Final = {
    "bytes": 1,
    "byte": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "megabytes": 10**6,
    "gigabytes": 10**9,
    "megabyte": 10**6,
    "gigabyte": 10**9,
    "kilobytes": 10**3,
}
MILLISECONDS: Final = {
    "ms": 1.0,
    "msec": 1.0,
    "millisecond": 1.0,
    "milliseconds": 1.0,
    "us": 1e-3,
    "µs": 1e-3,
    "μs": 1e-3,
    "microseconds": 1e-3,
    "s": 1e3,
    "sec": 1e3,
    "second": 1e3,
    "seconds": 1e3,
}
MACS: Final = {
    f"{prefix}{word}": 10 ** (3 * at)
    for at, prefix in enumerate(("", "k", "m", "g", "t"))
    for word in ("mac", "macs")
}
MULTIPLES: Final = {
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "million": 10**6,
    "mio": 10**6,
    "b": 10**9,
    "g": 10**9,
    "bn": 10**9,
    "billion": 10**9,
    "t": 10**12,
}
SHARE: Final = {"%": 0.01, "percent": 0.01, "pct": 0.01}
UNITS: Final = frozenset((*BYTES, *MILLISECONDS, *MACS, *MULTIPLES, *SHARE))


def _words(names: str) -> Iterator[Phrase]:
    for words in names.split(", "):
        yield tuple(words.split())


def _plural(phrase: Phrase) -> Phrase:
    return (*phrase[:-1], f"{phrase[-1]}s")


def _named(parameter: str, table: Mapping[str, str]) -> Iterator[tuple[Phrase, Meaning]]:
    for value, names in table.items():
        for phrase in _words(names):
            yield phrase, (parameter, value)


def _tasks() -> Iterator[tuple[Phrase, Meaning]]:
    for slug in TASKS:
        if slug != "other":
            yield (slug,), ("task", slug)
            yield tuple(slug.split("-")), ("task", slug)
    for phrase, meaning in (*_named("task", _TASKS), *_named("domain", _DOMAINS)):
        yield phrase, meaning
        yield _plural(phrase), meaning


def _runtimes() -> Iterator[tuple[Phrase, Meaning]]:
    for slug, title in RUNTIMES.items():
        names = f"{slug}, {title.lower()}"
        if slug in _RUNTIME_NAMES:
            names = f"{names}, {_RUNTIME_NAMES[slug]}"
        for name in _words(names):
            for verb in _words(_RUNS):
                yield (*verb, *name), ("passes_on", slug)
            for verb in _words(_FAILS):
                yield (*verb, *name), ("fails_on", slug)
    for name in _words("the browser, a browser"):
        yield ("in", *name), ("passes_on", "onnxruntime-web")


def _licences() -> Iterator[tuple[Phrase, Meaning]]:
    for licence in LICENCES:
        value = licence.lower()
        if _PLAIN_LICENCE.fullmatch(value):
            yield (value,), ("license", value)
        if value not in ("other", "unknown"):
            for word in _LICENCE_WORDS:
                yield (value, word), ("license", value)
    for value, names in _LICENCE_NAMES.items():
        for phrase in _words(names):
            yield phrase, ("license", value)
        for word in _LICENCE_WORDS:
            yield ("apache", word), ("license", value)


def _sorts() -> Iterator[tuple[Phrase, Meaning]]:
    yield from _named("sort", _SORTS)
    for phrase, meaning in _named("sort", _SORT_NOUNS):
        for verb in _words(_SORT_VERBS):
            yield (*verb, *phrase), meaning


def _all() -> Iterable[tuple[Phrase, Meaning]]:
    yield from _runtimes()
    yield from _licences()
    yield from _sorts()
    for parameter, table in (
        ("personal_data", _PERSONAL),
        ("evidence", _EVIDENCE),
        ("precision", _PRECISIONS),
    ):
        yield from _named(parameter, table)
    yield from _tasks()


PHRASES: Final[dict[Phrase, Meaning]] = dict(_all())
LONGEST: Final = max(map(len, PHRASES))
