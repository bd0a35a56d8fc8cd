"""What the page that runs a model needs to know of it: its inputs, what they are fed, its labels.

Preprocessing is what the version's own files declare, never a guess: where nothing is declared the
page says so, and the reader sets it by hand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from frontend.pages.tryouts import examples, image_sources
from frontend.pages.tryouts.input_form import Input
from frontend.parts import formatting
from frontend.presenters import declarations as presenter_declarations
from hub.protocol import outputs as declared_outputs
from hub.protocol import parts, stored
from registry.storage.files import store

if TYPE_CHECKING:
    from hub.protocol.facts import Port
    from hub.protocol.inputs import DeclaredInput
    from registry.models import File, Variant, Version

CONFIG, MODEL_CONFIG = "preprocessor_config.json", "config.json"
LABELS = ("labels.txt", "classes.txt", "class_names.txt", "synset.txt")
# Keys of metadata under which exporters keep labels, and how long a value the facts have whole.
LABEL_KEYS = ("character", "labels", "classes", "class_names")
METADATA_CHARACTERS = 2000
FEATURES = ("features.txt", "feature_names.txt", "columns.txt")
TOKENIZER = "tokenizer.json"
# Inputs of text models, as Transformers exports them: attributes of an `Encoding` of `tokenizers`.
_ENCODINGS = {
    "input_ids": "ids",
    "attention_mask": "attention_mask",
    "token_type_ids": "type_ids",
}
MOST_BYTES, MOST_LABELS, MOST_SHOWN = 1 << 20, 5_000, 10
# Types that a browser's runtime and an array file both have; the others run on the server alone.
PLAIN = frozenset(
    {
        "float32", "float64", "float16", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "bool", "string",
    }
)  # fmt: skip
_CHANNELS = frozenset({1, 3})
_MOST_COLUMNS = 256
_MOST_PRESET = 4096
_SOUND = ("audio", "wave", "speech", "sound", "pcm")
# How far an answer may lie from the server's: as runners.engine.runs.agreement has it by precision.
_PROFILES = {
    "fp32": {"rtol": 1e-3, "atol": 1e-5},
    "fp16": {"rtol": 1e-2, "atol": 1e-3},
    "quantised": {"rtol": 1e-3, "atol": 1e-5, "cosine": 0.99},
}


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that a page needs to run one variant; ``rate`` is a sound's, in hertz.

    An output comes with whether it is a plain tensor, which a browser's runtime can give.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[tuple[str, bool], ...]
    said: str
    source: str
    rate: int | None = None
    labels: tuple[str, ...] = field(repr=False, default=())
    labels_from: str = ""
    profile: str = "fp32"
    task: str = ""
    part: str = ""
    readings: tuple[declared_outputs.DeclaredOutput, ...] = ()
    examples: tuple[examples.Example, ...] = ()

    @property
    def sees(self) -> bool:
        """Whether it takes a picture."""
        return any("picture" in field.kinds for field in self.inputs)

    @property
    def characters(self) -> str:
        """The key of the file's metadata that lists the characters of a text, which may be long."""
        texts = (
            each.reading
            for each in self.readings
            if isinstance(each.reading, declared_outputs.Text)
        )
        return next((text.labels for text in texts), "")

    @property
    def is_plain(self) -> bool:
        """Whether all inputs are tensors of types that a browser has."""
        return all(field.kinds for field in self.inputs)

    def as_json(self) -> str:
        """What the page's module reads."""
        readings = {each.name: each.document() for each in self.readings}
        return json.dumps(
            {
                "inputs": [
                    {
                        "index": field.index,
                        "name": field.name,
                        "type": field.type,
                        "shape": field.shape,
                        **field.source,
                    }
                    for field in self.inputs
                ],
                "outputs": [
                    {"name": name, "plain": plain, "reading": readings.get(name)}
                    for name, plain in self.outputs
                ],
                "characters": self.characters,
                "sees": self.sees,
                "labels": self.labels,
                "task": self.task,
                "profile": {"name": self.profile, **_PROFILES[self.profile]},
            },
            separators=(",", ":"),
        )


def read(version: Version, variant: Variant) -> Model:
    """What is known of a variant."""
    facts = variant.typed_facts
    own = {file.path: file for file in version.files.all() if not file.derived}
    config = _json(own.get(CONFIG))
    card = stored.mapping(version.card)
    preprocessing = card.get("preprocessing")
    words = preprocessing.strip() if isinstance(preprocessing, str) else ""
    part = parts.of(card, variant.uploaded_path)
    declarations = {declaration.name: declaration for declaration in part.inputs}
    task = presenter_declarations.task_of(version)
    features, features_from = _lines(own, FEATURES)
    rate = _whole(config.get("sampling_rate"))
    rows = _named(_inputs(facts.inputs, task, declarations), features, features_from)
    rows = image_sources.declared(rows, declarations, config, facts)
    if TOKENIZER in own:
        rows = tuple(replace(row, encoding=_ENCODINGS.get(row.name, "")) for row in rows)
    origins = {origin for field in rows for _, origin in field.origins}
    sources = [origin for origin in image_sources.ORIGINS if origin in origins]
    is_signal = any(each.audio or each.file for each in part.inputs)
    if (words or is_signal) and image_sources.CARD not in sources:
        sources.insert(0, image_sources.CARD)
    labels, labels_from = _labels(own)
    if not labels:
        labels, labels_from = _labels_inside(facts.metadata)
    return Model(
        inputs=rows,
        outputs=tuple((port.name, port.type.tensor_dtype in PLAIN) for port in facts.outputs),
        said=words,
        source=" and ".join(sources),
        rate=rate,
        labels=labels,
        labels_from=labels_from,
        profile=_profile(variant.precision),
        task=task,
        part=part.title,
        readings=part.outputs,
        examples=examples.read(
            own,
            variant.entry.path if variant.entry_id else "",
            [port.name for port in facts.inputs],
            declarations.values(),
        ),
    )


def first_values(row: dict[str, Any], labels: tuple[str, ...]) -> dict[str, Any]:
    """The first values of an output as a page lists them; of scores the highest, by label."""
    values = row.get("values")
    pairs = list(enumerate(values)) if isinstance(values, list) else [(0, values)]
    labelled = bool(labels) and row.get("elements") == len(labels)
    numbers = all(isinstance(value, float) for _, value in pairs)
    wide = [size for size in row.get("shape") or [] if size != 1]
    if numbers and len(wide) == 1 and row.get("elements") == len(pairs):
        pairs.sort(key=lambda pair: -float(pair[1] or 0))
    ends = stored.mapping(row.get("drawn"))
    return {
        "ends": [formatting.figure(ends.get(name)) for name in ("low", "high")],
        "labelled": labelled,
        "first_values": [
            (labels[place] if labelled else place, formatting.figure(value) or value)
            for place, value in pairs[:MOST_SHOWN]
        ],
    }


def _profile(precision: str) -> str:
    if precision in ("fp16", "bf16"):
        return "fp16"
    return "fp32" if precision in ("fp32", "fp64", "none", "") else "quantised"


def _inputs(
    ports: Iterable[Port], task: str, declarations: Mapping[str, DeclaredInput]
) -> Iterable[Input]:
    for index, port in enumerate(ports):
        declared = declarations.get(port.name)
        kind, sizes = port.type.tensor_dtype, port.type.sizes
        sizes = declared.sizes(sizes) if declared else sizes
        kinds = tuple(_kinds(port.name, kind, sizes, task, declared)) if kind in PLAIN else ()
        yield Input(
            index,
            port.name,
            kind or port.type.kind or "unknown",
            sizes,
            kinds,
            preset=_preset(sizes, declared),
            declared=declared,
        )


def _kinds(
    name: str,
    kind: str,
    shape: tuple[int | None, ...] | None,
    task: str,
    declared: DeclaredInput | None = None,
) -> Iterable[str]:
    sizes = shape or ()
    is_picture = declared is not None and declared.image is not None
    if declared is not None and (declared.audio or declared.file or declared.carry):
        yield "sound" if declared.audio else "file" if declared.file else "carry"
        yield "tensor"
        return
    numeric = kind.startswith(("float", "uint8"))
    if kind == "string":
        yield "text"
    if is_picture or (numeric and _is_plane(sizes)):
        yield "picture"
    heard = any(word in name.lower() for word in _SOUND) or task.startswith(
        ("audio", "automatic-speech")
    )
    if kind.startswith("float") and heard and 1 <= len(sizes) <= 3:
        yield "sound"
    if len(sizes) == 2 and kind != "string" and 0 < (sizes[1] or 0) <= _MOST_COLUMNS:
        yield "table"
    yield "tensor"


def _preset(shape: tuple[int | None, ...] | None, declared: DeclaredInput | None) -> str:
    """The only value that an input has, as JSON; zeros of a state; empty where there is a choice.

    A free size counts as 1.
    """
    if declared is None or shape is None:
        return ""
    sizes = [1 if size is None else size for size in shape]
    if math.prod(sizes) > _MOST_PRESET or not (declared.carry or declared.constant is not None):
        return ""
    if not declared.carry and None in shape:
        return ""
    value: Any = 0 if declared.carry else declared.constant
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    for size in reversed(sizes):
        value = [value] * size
    return json.dumps(value)


def _named(rows: Iterable[Input], features: tuple[str, ...], source: str) -> Iterable[Input]:
    """The inputs, those whose rows have one number for each feature with the features' names."""
    for row in rows:
        fits = "table" in row.kinds and len(features) == row.columns
        yield replace(row, features=features, features_from=source) if fits else row


def _is_plane(sizes: tuple[int | None, ...]) -> bool:
    """Whether a shape may be one picture's: an axis of 1 or 3 channels, and at most one picture."""
    if len(sizes) not in (3, 4) or (len(sizes) == 4 and sizes[0] not in (None, 1)):
        return False
    return sizes[-3] in _CHANNELS or sizes[-1] in _CHANNELS


def _json(file: File | None) -> dict[str, Any]:
    text = _text(file)
    try:
        document = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return stored.mapping(document)


def _text(file: File | None) -> str:
    if file is None or file.blob.size > MOST_BYTES or file.blob.erased_at:
        return ""
    with store().open(file.blob_id) as opened:
        return opened.read().decode("utf-8", "replace")


def _labels(own: dict[str, File]) -> tuple[tuple[str, ...], str]:
    names = _json(own.get(MODEL_CONFIG)).get("id2label")
    if isinstance(names, dict) and all(str(key).isdigit() for key in names):
        rows = [str(names[key])[:200] for key in sorted(names, key=int)]
        return tuple(rows[:MOST_LABELS]), MODEL_CONFIG
    return _lines(own, LABELS)


def _labels_inside(metadata: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The labels that a file holds in its metadata, one a line, if the facts have all of them."""
    for key in LABEL_KEYS:
        text = metadata.get(key, "")
        if "\n" in text and len(text) < METADATA_CHARACTERS:
            return tuple(line[:200] for line in text.split("\n")), f"metadata of the file, {key}"
    return (), ""


def _lines(own: dict[str, File], paths: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """The lines of the first of these files that has any, and its path."""
    for path in paths:
        lines = _text(own.get(path)).splitlines()
        if lines:
            return tuple(line.strip()[:200] for line in lines[:MOST_LABELS]), path
    return (), ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 < value < 1 << 20 else None
