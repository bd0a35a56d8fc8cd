"""What a described file says of itself, as fields of a card: suggested, never applied by itself.

The facts are an upload's own words. Keys: onnx docs (IR.md, MetadataProps.md), the 2022 proposal's
``model_card``, and the exporter of Ultralytics, whose values are Python literals.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.protocol.facts import Facts
from registry.cards import fields, licences, source, vocabularies
from registry.cards.findings import Notes
from registry.cards.imports.files import words
from registry.core import parsing

_LICENCE_KEYS = ("model_license", "license", "licence")
_LITERAL_CHARACTERS = 2000
_PRECISIONS = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp64": "float64",
    "int8": "int8",
    "int4": "int4",
}
_LIBRARIES = {
    "pytorch": "pytorch",
    "tf2onnx": "tensorflow",
    "skl2onnx": "scikit-learn",
    "keras2onnx": "keras",
    "paddle2onnx": "paddlepaddle",
    "catboost": "catboost",
}
_ULTRALYTICS_TASKS = {
    "detect": "object-detection",
    "segment": "image-segmentation",
    "classify": "image-classification",
    "pose": "keypoint-detection",
    "obb": "object-detection",
}
_IMAGES = {
    "image.bitmappixelformat": "pixels {}",
    "image.colorspacegamma": "colour space {}",
    "image.nominalpixelrange": "values {}",
}
_RANGES = {
    "nominalrange_0_255": "from 0 to 255",
    "normalized_0_1": "from 0 to 1",
    "normalized_1_1": "from -1 to 1",
    "nominalrange_16_235": "from 16 to 235",
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One field that the file speaks of: its value, and where in the file it stands."""

    name: str
    value: Any
    origin: str


def of(facts: Facts) -> list[Suggestion]:
    """What the facts of a described file suggest, one for each field, the best source first."""
    best: dict[str, Suggestion] = {}
    for suggestion in _all(facts):
        if suggestion.value not in (None, "", [], {}):
            best.setdefault(suggestion.name, suggestion)
    return list(best.values())


def contradicting_licences(facts: Facts, written: Sequence[str]) -> Iterator[Suggestion]:
    """The licences that a file states in its metadata and that a card's licences leave out.

    A card without a licence contradicts none.
    """
    declared = {name.lower() for name in licences.named(*written)}
    if not declared:
        return
    for key in _LICENCE_KEYS:
        stated = _licence(facts.metadata.get(key, ""))
        if vocabularies.is_licence(stated) and not declared & _names(stated):
            yield Suggestion("license", stated, key)


def _names(stated: str) -> set[str]:
    return {name.lower() for name in licences.named(stated)}


def _all(facts: Facts) -> Iterator[Suggestion]:
    props = facts.metadata
    authors = [words(name, 200) for name in props.get("model_author", "").split(",")]
    yield Suggestion("creators", [name for name in authors if name][:50], "model_author")
    yield Suggestion("license", _licence(props.get("model_license", "")), "model_license")
    card = props.get("model_card", "")
    for name, value in parsing.run(_good_fields, card[: source.split(card).body]).items():
        yield Suggestion(name, value, "model_card")
    if "names" in props and ("stride" in props or "imgsz" in props):
        yield from _ultralytics(props)
    if images := _images(props):
        yield Suggestion("preprocessing", images, "Image.* properties")
    yield from _plain(facts)


def _good_fields(head: str) -> dict[str, Any]:
    """The known fields of a front matter that hold what they should."""
    front = source.read(head)
    if not front.readable:
        return {}
    notes = Notes()
    fields.check(notes, front.values)
    wrong = {
        finding.pointer.split("/")[1] for finding in notes.findings if finding.severity == "error"
    }
    return {
        name: value
        for name, value in front.values.items()
        if name in fields.FIELDS and name not in wrong
    }


def _ultralytics(props: Mapping[str, str]) -> Iterator[Suggestion]:
    yield Suggestion("summary", words(props.get("description"), 300), "description")
    if author := words(props.get("author"), 200):
        yield Suggestion("creators", [author], "author")
    yield Suggestion("license", _licence(props.get("license", "")), "license")
    yield Suggestion("pipeline_tag", _ULTRALYTICS_TASKS.get(props.get("task", "")), "task")
    size = _literal(props.get("imgsz", ""))
    if isinstance(size, list | tuple) and size and all(isinstance(length, int) for length in size):
        shape = " x ".join(map(str, size[:3]))
        yield Suggestion("preprocessing", f"Pictures of {shape} pixels (height x width).", "imgsz")
    names = _literal(props.get("names", ""))
    classes = list(names.values()) if isinstance(names, dict) else names
    if isinstance(classes, list) and classes:
        listing = ", ".join(f"{at} {words(name, 60)}" for at, name in enumerate(classes[:20]))
        more = f" and {len(classes) - 20} more" if len(classes) > 20 else ""
        yield Suggestion("postprocessing", f"Classes by index: {listing}{more}.", "names")


def _images(props: Mapping[str, str]) -> str:
    parts = []
    for key, value in props.items():
        if form := _IMAGES.get(key.lower()):
            parts.append(form.format(words(_RANGES.get(value.lower(), value), 60)))
    return f"Pictures: {', '.join(sorted(parts))}." if parts else ""


def _plain(facts: Facts) -> Iterator[Suggestion]:
    sentence = re.match(r".{20,}?[.!?](?= |$)", words(facts.doc, 600))
    if sentence:
        yield Suggestion("summary", words(sentence.group(), 300), "doc_string")
    library = _LIBRARIES.get(facts.producer.name.strip().lower())
    yield Suggestion("library_name", library, "producer_name")
    yield Suggestion("precision", _PRECISIONS.get(facts.precision), "the weights")


def _licence(written: str) -> str:
    """A licence id of what a file says; of "AGPL-3.0 License (https://...)" its first word."""
    text = words(written, 200)
    first = text.split(" ")[0].strip("(),;") if text else ""
    for candidate in (text, first):
        if candidate and vocabularies.is_licence(candidate):
            return candidate
    return text if text.startswith(("http://", "https://")) else ""


def _literal(text: str) -> Any:
    """A Python literal, read as such and never run; None for anything else."""
    if len(text) > _LITERAL_CHARACTERS:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
