"""The words by which people name filters of the list: the tables of `registry.catalogue.wording`.

A phrase is a tuple of lower-case words; what it means is a parameter of the list and its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hub.protocol import attributes, filters, sorts
from hub.protocol.vocabularies import LICENCES, ONNXRUNTIME_WEB, RUNTIMES, TASKS

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
_LICENCE_NAMES: Final = {"apache-2.0": "apache 2.0, apache2.0"}
_LICENCE_WORDS: Final = ("licence", "license", "licensed")
# A name that nobody gives a model: words, then a number after a hyphen.
_PLAIN_LICENCE: Final = re.compile(r"[a-z][a-z-]*-\d(\.\d)?(-[a-z-]+)?", re.ASCII)

_SORT_VERBS: Final = "sorted by, sort by, ordered by, order by"
# These are read only where they describe what follows, see `wording`: a model may be named so.
ADJECTIVES: Final = {
    word: ("sort", sort.name) for sort in sorts.SORTS.values() for word in sort.adjectives.split()
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
# What people call metrics, beside the subjects of the filters by a number.
_METRICS: Final = {
    "accuracy": "accuracy, accurate, top-1, top1, top-1 accuracy",
    "top-5": "top-5, top5, top-5 accuracy",
    "f1-macro": "f1, f1 score, f1-macro, macro f1",
    "roc_auc": "roc auc, auroc, roc_auc",
    "log_loss": "log loss, log_loss",
    "rmse": "rmse",
    "mae": "mae",
    "r2": "r2",
    "wer": "wer, word error rate",
    "cer": "cer, character error rate",
    "perplexity": "perplexity, ppl",
    "map": "map, mean average precision",
    "map50": "map50, map@0.5",
    "token-accuracy": "token accuracy, next-token accuracy, token-accuracy",
}
# What a quantity is of, before or after its number.
SUBJECTS: Final[dict[Phrase, str]] = {
    tuple(words.split()): subject
    for subject, names in (
        *((bound.subject, bound.names) for bound in filters.BOUNDS.values() if bound.subject),
        *_METRICS.items(),
    )
    for words in names.split(", ")
}
SHARE: Final = {"%": 0.01, "percent": 0.01, "pct": 0.01}
UNITS: Final = frozenset(
    unit
    for quantity in attributes.QUANTITIES
    for unit in (*quantity.alone, *quantity.named)
    if unit
).union(SHARE)


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
            yield (slug,), (filters.TASK.name, slug)
            yield tuple(slug.split("-")), (filters.TASK.name, slug)
    for phrase, meaning in (
        *_named(filters.TASK.name, _TASKS),
        *_named(filters.DOMAIN.name, _DOMAINS),
    ):
        yield phrase, meaning
        yield _plural(phrase), meaning


def _runtimes() -> Iterator[tuple[Phrase, Meaning]]:
    for slug, title in RUNTIMES.items():
        names = f"{slug}, {title.lower()}"
        if slug in _RUNTIME_NAMES:
            names = f"{names}, {_RUNTIME_NAMES[slug]}"
        for name in _words(names):
            for verb in _words(_RUNS):
                yield (*verb, *name), (filters.PASSES_ON.name, slug)
            for verb in _words(_FAILS):
                yield (*verb, *name), (filters.FAILS_ON.name, slug)
    for name in _words("the browser, a browser"):
        yield ("in", *name), (filters.PASSES_ON.name, ONNXRUNTIME_WEB)


def _licences() -> Iterator[tuple[Phrase, Meaning]]:
    for licence in LICENCES:
        value = licence.lower()
        if _PLAIN_LICENCE.fullmatch(value):
            yield (value,), (filters.LICENCE.name, value)
        if value not in ("other", "unknown"):
            for word in _LICENCE_WORDS:
                yield (value, word), (filters.LICENCE.name, value)
    for value, names in _LICENCE_NAMES.items():
        for phrase in _words(names):
            yield phrase, (filters.LICENCE.name, value)
        for word in _LICENCE_WORDS:
            yield ("apache", word), (filters.LICENCE.name, value)


def _sorts() -> Iterator[tuple[Phrase, Meaning]]:
    for sort in sorts.SORTS.values():
        meaning = ("sort", sort.name)
        for phrase in filter(None, _words(sort.phrases)):
            yield phrase, meaning
        for noun in filter(None, _words(sort.nouns)):
            for verb in _words(_SORT_VERBS):
                yield (*verb, *noun), meaning


def _all() -> Iterable[tuple[Phrase, Meaning]]:
    yield from _runtimes()
    yield from _licences()
    yield from _sorts()
    for choice in filters.CHOICES.values():
        yield from _named(choice.name, choice.phrases)
    yield from _tasks()


PHRASES: Final[dict[Phrase, Meaning]] = dict(_all())
LONGEST: Final = max(map(len, PHRASES))
