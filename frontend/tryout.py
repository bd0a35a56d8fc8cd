"""What the page that runs a model needs to know of it: its inputs, what they are fed, its labels.

Preprocessing is what the version's own files declare, never a guess: where nothing is declared the
page says so, and the reader sets it by hand.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from frontend import declared, formatting
from registry import searchable
from registry.blobs import store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from registry.models import File, Variant, Version

CONFIG, MODEL_CONFIG = "preprocessor_config.json", "config.json"
LABELS = ("labels.txt", "classes.txt", "class_names.txt", "synset.txt")
MOST_BYTES, MOST_LABELS, MOST_SHOWN = 1 << 20, 5_000, 10
# Types that a browser's runtime and an array file both have; the others run on the server alone.
PLAIN = frozenset(
    {
        "float32", "float64", "float16", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "bool", "string",
    }
)  # fmt: skip
KINDS = {
    "picture": "Picture",
    "sound": "Sound",
    "text": "Text",
    "table": "Table",
    "tensor": "Tensor",
}
_CHANNELS = frozenset({1, 3, 4})
_MOST_COLUMNS = 256
_SOUND = ("audio", "wave", "speech", "sound", "pcm")
# How far an answer may lie from the server's: as runners.engine.agreement has it by precision.
_PROFILES = {
    "fp32": {"rtol": 1e-3, "atol": 1e-5},
    "fp16": {"rtol": 1e-2, "atol": 1e-3},
    "quantised": {"rtol": 1e-3, "atol": 1e-5, "cosine": 0.99},
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the model: its type, its sizes (None where free), and how it may be given."""

    index: int
    name: str
    type: str
    shape: tuple[int | None, ...] | None
    kinds: tuple[str, ...]

    # Presets of a picture's size: those of the model, else those declared.
    width: int | None = None
    height: int | None = None

    @property
    def columns(self) -> int:
        """How many numbers a row of a table has."""
        return (self.shape or (0,))[-1] or 0

    @property
    def words(self) -> str:
        """Type and sizes: float32[?, 3, 64, 64]."""
        if self.shape is None:
            return self.type
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.type}[{sizes}]"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The ways to give it, with their words."""
        return [(kind, KINDS[kind]) for kind in self.kinds]


@dataclass(frozen=True, slots=True)
class Output:
    """One output of the model; a browser's runtime gives those that are plain tensors."""

    name: str
    plain: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """What the declared preprocessing does to a picture or a sound; None where it says nothing."""

    width: int | None = None
    height: int | None = None
    fit: str = ""
    scale: float | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    rate: int | None = None


# Scale, mean and deviation -> words: what is usual, for a reader who has to choose.
PRESETS = {
    "0.00392156862745098||": "0 to 1",
    "1||": "0 to 255, as they are",
    "0.00784313725490196|1|": "\N{MINUS SIGN}1 to 1",
    "-0.00392156862745098|-1|": "1 to 0, dark is high",
    "0.00392156862745098|0.485, 0.456, 0.406|0.229, 0.224, 0.225": "ImageNet mean and deviation",
}
ORDERS = ("RGB", "BGR")
FITS = {
    "stretch": "Stretched",
    "cover": "Covering, cut at the middle",
    "contain": "Whole, on black",
}


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that a page needs to run one variant."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    said: str
    source: str
    steps: Steps | None
    channels: str = "RGB"
    labels: tuple[str, ...] = field(repr=False, default=())
    labels_from: str = ""
    profile: str = "fp32"

    @property
    def presets(self) -> list[tuple[str, str]]:
        """What the values of a picture may become, what is declared first."""
        own = self.preset
        known = [(value, words) for value, words in PRESETS.items() if value != "|".join(own)]
        if self.steps is None or self.steps.scale is None:
            return list(PRESETS.items())
        return [("|".join(own), "as declared"), *known]

    @property
    def preset(self) -> tuple[str, str, str]:
        """Scale, mean and deviation as declared, else the first of the usual."""
        steps = self.steps
        if steps is None or steps.scale is None:
            scale, mean, deviation = next(iter(PRESETS)).split("|")
            return scale, mean, deviation
        listed = [", ".join(f"{one:g}" for one in row) for row in (steps.mean, steps.std)]
        return repr(steps.scale), listed[0], listed[1]

    @property
    def is_plain(self) -> bool:
        """Whether all inputs are tensors of types that a browser has."""
        return all(one.kinds for one in self.inputs)

    def as_json(self) -> str:
        """What the page's module reads."""
        return json.dumps(
            {
                "inputs": [asdict(one) for one in self.inputs],
                "outputs": [asdict(one) for one in self.outputs],
                "steps": asdict(self.steps) if self.steps else None,
                "labels": self.labels,
                "profile": {"name": self.profile, **_PROFILES[self.profile]},
            },
            separators=(",", ":"),
        )


def read(version: Version, variant: Variant) -> Model:
    """What is known of a variant; its facts crossed a process that had opened an upload."""
    facts = variant.facts
    own = {file.path: file for file in version.files.all() if not file.derived}
    config = _json(own.get(CONFIG))
    said = version.card.get("preprocessing") if isinstance(version.card, dict) else None
    words = said.strip() if isinstance(said, str) else ""
    sources = ["the card"] * bool(words) + [CONFIG] * bool(config)
    labels, labels_from = _labels(own)
    steps = _steps(config) if config else None
    return Model(
        inputs=tuple(_inputs(facts.get("inputs"), declared.task_of(version), steps)),
        outputs=tuple(_outputs(facts.get("outputs"))),
        said=words,
        source=" and ".join(sources),
        steps=steps,
        channels=_channels(config, facts),
        labels=labels,
        labels_from=labels_from,
        profile=_profile(variant.precision),
    )


def shown(row: dict[str, Any], labels: tuple[str, ...]) -> dict[str, Any]:
    """The first values of an output as a page lists them; of scores the highest, by label."""
    values = row.get("values")
    listed = list(enumerate(values)) if isinstance(values, list) else [(0, values)]
    labelled = bool(labels) and row.get("elements") == len(labels)
    numbers = all(isinstance(value, float) for _, value in listed)
    wide = [size for size in row.get("shape") or [] if size != 1]
    if numbers and len(wide) == 1 and row.get("elements") == len(listed):
        listed.sort(key=lambda pair: -float(pair[1] or 0))
    return {
        "labelled": labelled,
        "shown": [
            (labels[place] if labelled else place, formatting.figure(value) or value)
            for place, value in listed[:MOST_SHOWN]
        ],
    }


def _profile(precision: str) -> str:
    if precision in ("fp16", "bf16"):
        return "fp16"
    return "fp32" if precision in ("fp32", "fp64", "none", "") else "quantised"


def _inputs(rows: Any, task: str, steps: Steps | None) -> Iterable[Input]:
    for index, row in enumerate(_rows(rows)):
        kind = str(row.get("dtype", "")) if row.get("type") == "tensor" else ""
        shape = row.get("shape")
        sizes = (
            tuple(size if isinstance(size, int) else None for size in shape)
            if isinstance(shape, list)
            else None
        )
        name = str(row.get("name", ""))
        kinds = tuple(_kinds(name, kind, sizes, task)) if kind in PLAIN else ()
        width, height = _plane(sizes or (), steps) if "picture" in kinds else (None, None)
        said = kind or str(row.get("type", "unknown"))
        yield Input(index, name, said, sizes, kinds, width, height)


def _outputs(rows: Any) -> Iterable[Output]:
    for row in _rows(rows):
        kind = row.get("dtype") if row.get("type") == "tensor" else ""
        yield Output(str(row.get("name", "")), kind in PLAIN)


def _plane(sizes: tuple[int | None, ...], steps: Steps | None) -> tuple[int | None, int | None]:
    """Width and height of a picture: as the model has them, else as declared."""
    order = layout(sizes)
    width, height = sizes[order.index("W")], sizes[order.index("H")]
    if steps is None:
        return width, height
    return width or steps.width, height or steps.height


def _rows(rows: Any) -> list[dict[str, Any]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _kinds(name: str, kind: str, shape: tuple[int | None, ...] | None, task: str) -> Iterable[str]:
    """How such an input may be given, the likeliest first; a tensor always."""
    sizes = shape or ()
    numeric = kind.startswith(("float", "uint8"))
    if kind == "string":
        yield "text"
    if numeric and layout(sizes):
        yield "picture"
    heard = any(word in name.lower() for word in _SOUND) or task.startswith(
        ("audio", "automatic-speech")
    )
    if kind.startswith("float") and heard and 1 <= len(sizes) <= 3:
        yield "sound"
    if len(sizes) == 2 and kind != "string" and 0 < (sizes[1] or 0) <= _MOST_COLUMNS:
        yield "table"
    yield "tensor"


def layout(sizes: tuple[int | None, ...]) -> str:
    """NCHW, NHWC, CHW or HWC where a shape may be a picture's; empty where it is none."""
    batch = {3: "", 4: "N"}.get(len(sizes))
    if batch is None or (batch and sizes[0] not in (None, 1)):
        return ""
    plane = sizes[len(batch) :]
    if plane[0] in _CHANNELS:
        return f"{batch}CHW"
    return f"{batch}HWC" if plane[2] in _CHANNELS else ""


def _json(file: File | None) -> dict[str, Any]:
    text = _text(file)
    try:
        said = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _text(file: File | None) -> str:
    if file is None or file.blob.size > MOST_BYTES or file.blob.erased_at:
        return ""
    with store().open(file.blob_id) as opened:
        return opened.read().decode("utf-8", "replace")


def _labels(own: dict[str, File]) -> tuple[tuple[str, ...], str]:
    """The words for the places of an output, and the file that has them."""
    told = _json(own.get(MODEL_CONFIG)).get("id2label")
    if isinstance(told, dict) and all(str(key).isdigit() for key in told):
        rows = [str(told[key])[:200] for key in sorted(told, key=int)]
        return tuple(rows[:MOST_LABELS]), MODEL_CONFIG
    for path in LABELS:
        lines = _text(own.get(path)).splitlines()
        if lines:
            return tuple(line.strip()[:200] for line in lines[:MOST_LABELS]), path
    return (), ""


def _channels(config: dict[str, Any], facts: dict[str, Any]) -> str:
    """The order of a picture's channels: as its processor flips them, else as the file says."""
    if "do_flip_channel_order" in config:
        return "BGR" if config["do_flip_channel_order"] is True else "RGB"
    told = searchable.pixel_formats(facts)
    return "BGR" if any(word.startswith("Bgr") for word in told) else "RGB"


def _steps(config: dict[str, Any]) -> Steps:
    """A `preprocessor_config.json` as the image and feature processors of Hugging Face write it."""
    crop = config.get("crop_size") if config.get("do_center_crop") else None
    size = crop or config.get("size")
    edge = _whole(size.get("shortest_edge") if isinstance(size, dict) else size)
    height = _whole(size.get("height")) if isinstance(size, dict) else None
    width = _whole(size.get("width")) if isinstance(size, dict) else None
    rescaled = config.get("do_rescale", "rescale_factor" in config or "image_mean" in config)
    factor = _number(config.get("rescale_factor"))
    normal = config.get("do_normalize", "image_mean" in config)
    return Steps(
        width=width or edge,
        height=height or edge,
        fit="cover" if crop or edge else "stretch" if width else "",
        scale=(factor if factor is not None else 1 / 255) if rescaled else 1.0,
        mean=_numbers(config.get("image_mean")) if normal else (),
        std=_numbers(config.get("image_std")) if normal else (),
        rate=_whole(config.get("sampling_rate")),
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 < value < 1 << 20 else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _numbers(values: Any) -> tuple[float, ...]:
    found = values if isinstance(values, list) else []
    return tuple(float(one) for one in found[:4] if isinstance(one, int | float))
