"""Questions in words: what each is read as, and what must stay text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.catalogue import phrases, wording

DEVICES = {"example cpu": "example-cpu", "example-cpu": "example-cpu"}


def known(_parameter, limit):
    """Limits that name no data set, or the only one there is."""
    return "@" not in limit or "@digits" in limit


def read(text):
    return wording.read(text, devices=DEVICES, accepts=known)


def meanings(text):
    return [(part.parameter, part.value) for part in read(text).parts], read(text).rest


IMAGES = ("task", "image-classification")
READINGS = {
    "fast image classifier under 20 MB": (
        [("sort", "fastest"), IMAGES, ("max_bytes", "20000000")],
        "",
    ),
    "a small, fast model for image classification": ([("sort", "size"), IMAGES], ""),
    "tiny image classifiers": ([("sort", "size"), IMAGES], ""),
    "image classifier, at most 1.5GiB": ([IMAGES, ("max_bytes", "1610612736")], ""),
    "resnet image-classification": ([IMAGES], "resnet"),
    "zero-shot image classification < 500 kB": (
        [IMAGES, ("max_bytes", "500000")],
        "zero-shot",
    ),
    "zero shot image classification": ([("task", "zero-shot-image-classification")], ""),
    "object detectors with less than 300M MACs": (
        [("task", "object-detection"), ("max_macs", "300000000")],
        "",
    ),
    "speech to text ≤ 2 GMACs": (
        [("task", "automatic-speech-recognition"), ("max_macs", "2000000000")],
        "",
    ),
    "at most 1 GMAC and apache": ([("max_macs", "1000000000")], "apache"),
    "fewer than 10 million parameters": ([("max_parameters", "10000000")], ""),
    "parameters under 1.5B": ([("max_parameters", "1500000000")], ""),
    "under 500 MB of memory": ([("max_memory", "500000000")], ""),
    "memory below 2 GB": ([("max_memory", "2000000000")], ""),
    "runs in 512 MB RAM": ([("max_memory", "512000000")], "runs"),
    "yolo under 2 ms on example CPU": (
        [("max_p50", "2"), ("device", "example-cpu")],
        "yolo",
    ),
    "latency below 0.5 s": ([("max_p50", "500")], ""),
    "measured on example cpu, most downloaded": (
        [("measured_on", "example-cpu"), ("sort", "downloads")],
        "",
    ),
    "over 85 % on digits": ([("min", "accuracy@digits=0.85")], ""),
    "accuracy on digits:test above 90%": ([("min", "accuracy@digits:test=0.9")], ""),
    "over 85 % on flowers-102": ([("min", "accuracy=0.85")], "flowers-102"),
    "at least 0.9 accuracy": ([("min", "accuracy=0.9")], ""),
    "95% accurate": ([("min", "accuracy=0.95")], ""),
    "top-5 accuracy over 97 percent": ([("min", "top-5=0.97")], ""),
    "rmse below 3.5 tabular regression": (
        [("max", "rmse=3.5"), ("task", "tabular-regression")],
        "",
    ),
    "accurate image classifier over 90%": (
        [("sort", "accuracy"), IMAGES, ("min", "accuracy=0.9")],
        "",
    ),
    "MIT licensed text classifiers": (
        [("license", "mit"), ("task", "text-classification")],
        "",
    ),
    "apache 2.0 or bsd-3-clause translation": (
        [("license", "apache-2.0"), ("license", "bsd-3-clause"), ("task", "translation")],
        "",
    ),
    "resnet50 int8": ([("precision", "int8")], "resnet50"),
    "half precision language models": ([("precision", "fp16"), ("task", "text-generation")], ""),
    "models that run on OpenVINO": ([("passes_on", "openvino")], ""),
    "works in the browser": ([("passes_on", "onnxruntime-web")], ""),
    "fails on onnx runtime": ([("fails_on", "onnxruntime")], ""),
    "trained on personal data under 10 MB": (
        [("personal_data", "yes"), ("max_bytes", "10000000")],
        "",
    ),
    "ECG without personal data": ([("personal_data", "no")], "ECG"),
    "opset 17 resnet": ([("opset", "17")], "resnet"),
    "opset at most 17": ([("opset_max", "17")], ""),
    "computer vision, sorted by size": ([("domain", "cv"), ("sort", "size")], ""),
    "federated learning keyboard": ([("evidence", "federated")], "keyboard"),
    "least carbon translation": ([("sort", "carbon"), ("task", "translation")], ""),
    "bert under 1 GB under 20 MB": ([("max_bytes", "1000000000")], "bert"),
    '"object detection" int8': ([("precision", "int8")], '"object detection"'),
    "image under 20 MB classification": ([("max_bytes", "20000000")], '"image classification"'),
}


@pytest.mark.parametrize("text", READINGS)
def test_a_question_is_read_as_filters(text):
    assert meanings(text) == READINGS[text]


@pytest.mark.parametrize(
    "text",
    [
        *("fast-rcnn", "fast rcnn", "faster rcnn resnet50 fpn", "tiny yolo v3", "light gbm"),
        *("image-classification", "translation", "int8", "fast", "mit-b0", "mit b0 segmentation"),
        *("llama 7b", "under 7b", "llama3 instruct", "gpt 2", "yolov8n 640", "20 MB"),
        *("over 20 MB", "at least 5 ms", "opset at least 17", "segment anything", "depth anything"),
        *(
            "small",
            "zoo/fast-image-classifier",
            "image-classifier-under-20mb",
            "vision transformer",
        ),
        *('"fast image classifier under 20 MB"', '"unended image classifier', "on example board"),
        *("1e9 1e9", "< <", "under", "under under 20", "% on digits", "accuracy", ""),
    ],
)
def test_names_and_what_is_no_filter_stay_text(text):
    assert read(text) == wording.Reading(rest=text)


def test_what_cannot_be_applied_is_named_with_its_reason():
    assert [(one.words, one.reason) for one in read("accurate image classifiers").unused] == [
        ("accurate", "The order by accuracy needs a limit of it, such as “over 90 % on digits”.")
    ]
    assert [one.words for one in read("bert under 1 GB under 20 MB").unused] == ["under 20 MB"]


def test_a_choice_wins_over_the_question_and_alternatives_are_added():
    reading = read("fast image classifier under 20 MB")
    choices = {"max_bytes": ["5"], "task": ["object-detection"], "sort": [""], "q": ["x"]}
    assert reading.beside(choices) == {
        "q": [""],
        "max_bytes": ["5"],
        "task": ["object-detection", "image-classification"],
        "sort": ["fastest"],
    }


WORDS = sorted({word for phrase in (*phrases.PHRASES, *phrases.MAXIMA) for word in phrase})


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([*WORDS, "20", "MB", "5ms", "%", "on", "digits", "yolo", '"'])))
def test_what_is_left_over_is_read_as_nothing_more(words):
    text = " ".join(words)
    assert read(read(text).rest).parts == ()


def test_each_word_is_looked_at_a_bounded_number_of_times(monkeypatch):
    """Twice the words cost twice the look-ups, whatever the words are."""
    monkeypatch.setattr(wording, "LONGEST", 10**6)

    def looks(many):
        seen = []

        class Lookups(dict):
            def __contains__(self, key):
                seen.append(key)
                return super().__contains__(key)

        with monkeypatch.context() as patch:
            patch.setattr(phrases, "PHRASES", Lookups(phrases.PHRASES))
            read("not trained on personal " * many)
        return len(seen)

    assert looks(400) <= 2.1 * looks(200)
