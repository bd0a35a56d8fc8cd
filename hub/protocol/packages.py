"""Packages: the files of a version that belong together, and what contradicts among them.

The engine makes one from a version's files, the hub stores it, and clients read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from hub.counting import plural
from hub.protocol import problems, stored, strict

MODEL_ENDING = ".onnx"
GENAI_CONFIG = "genai_config.json"
_Row = TypeVar("_Row")

# How packages are recognised and checked; a higher number has each version checked again.
METHOD = 2
# Names of files that say how others belong together, and of those that list tokens.
CONFIGS = (
    GENAI_CONFIG,
    "manifest.json",
    "component.json",
    "model_index.json",
    "modules.json",
    "config.json",
)
VOCABULARIES = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "tokens.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)


class Layout(StrEnum):
    """How the files of a version are laid out, by the tool that reads them."""

    GENAI = "genai"
    ORT_PACKAGE = "ort-package"
    DIFFUSERS = "diffusers"
    SENTENCE_TRANSFORMERS = "sentence-transformers"
    TRANSDUCER = "transducer"
    CLIP = "clip"
    OPTIMUM = "optimum"
    MODELS = "models"

    @property
    def label(self) -> str:
        """The name of the layout for people."""
        return _LABELS[self]

    @property
    def library(self) -> str:
        """The library that loads it, as the Hub protocol names it; empty where it names none."""
        return _LIBRARIES.get(self, "")


_LIBRARIES = {
    Layout.GENAI: "onnxruntime-genai",
    Layout.DIFFUSERS: "diffusers",
    Layout.SENTENCE_TRANSFORMERS: "sentence-transformers",
    Layout.CLIP: "transformers.js",
    Layout.OPTIMUM: "transformers.js",
}
_TASKS = {
    Layout.SENTENCE_TRANSFORMERS: "sentence-similarity",
    Layout.TRANSDUCER: "automatic-speech-recognition",
    Layout.CLIP: "zero-shot-image-classification",
}
_LABELS = {
    Layout.GENAI: "ONNX Runtime GenAI",
    Layout.ORT_PACKAGE: "ONNX Runtime model package",
    Layout.DIFFUSERS: "Diffusers pipeline",
    Layout.SENTENCE_TRANSFORMERS: "Sentence Transformers",
    Layout.TRANSDUCER: "Transducer",
    Layout.CLIP: "CLIP pair",
    Layout.OPTIMUM: "Optimum or transformers.js",
    Layout.MODELS: "Separate ONNX files",
}


class Role(StrEnum):
    """What a component does in its package."""

    MODEL = "model"
    ENCODER = "encoder"
    DECODER = "decoder"
    DECODER_WITH_PAST = "decoder-with-past"
    EMBEDDING = "embedding"
    VISION = "vision"
    SPEECH = "speech"
    TEXT = "text"
    JOINER = "joiner"
    DENOISER = "denoiser"
    VAE_ENCODER = "vae-encoder"
    VAE_DECODER = "vae-decoder"
    PIPELINE = "pipeline"
    TOKENIZER = "tokenizer"
    SCHEDULER = "scheduler"
    POOLING = "pooling"
    OTHER = "other"


class Severity(StrEnum):
    """What a finding means: the package cannot be used, may fail, or something else."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    """What a finding is about; docs/packages.md lists them."""

    CONFIG_UNREADABLE = "config-unreadable"
    CONFIG_TOO_LARGE = "config-too-large"
    FILE_MISSING = "file-missing"
    PATH_OUTSIDE = "path-outside"
    INPUT_MISSING = "input-missing"
    OUTPUT_MISSING = "output-missing"
    VOCABULARY_DIFFERS = "vocabulary-differs"
    VOCABULARY_SMALL = "vocabulary-small"
    HEADS_DIFFER = "heads-differ"
    KEY_VALUE_HEADS_DIFFER = "key-value-heads-differ"
    HEAD_SIZE_DIFFERS = "head-size-differs"
    LAYERS_DIFFER = "layers-differ"
    WIDTH_DIFFERS = "width-differs"
    GRAPH_UNREADABLE = "graph-unreadable"
    FILE_UNUSED = "file-unused"


class PackageState(StrEnum):
    """How far the check of a version's package is."""

    CHECKED = "checked"
    PENDING = "pending"
    FAILED = "failed"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a package: ``model`` is the path of its ONNX file, empty where it has none.

    ``files`` are the paths of all its files in the version, the model and its weights among them.
    """

    name: str
    role: Role
    model: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackageFinding:
    """A contradiction between files: ``field`` is the key of the file, empty where none is."""

    code: Code
    severity: Severity
    file: str
    field: str
    message: str
    cure: str

    @property
    def where(self) -> str:
        """The file, with the field behind it."""
        return f"{self.file}: {self.field}" if self.field else self.file


@dataclass(frozen=True, slots=True)
class Package:
    """A version's files as one package: its layout, components in order of preference, findings.

    ``decoder`` is the ONNX file whose generation can be measured; empty where there is none.
    """

    layout: Layout
    components: tuple[Component, ...] = ()
    findings: tuple[PackageFinding, ...] = ()
    decoder: str = ""

    @classmethod
    def read(cls, value: object) -> Package:
        """Read what the engine or a hub answers; raises strict.UnreadableError."""
        return strict.Reader().read(cls, value)

    @classmethod
    def stored(cls, value: object) -> Package:
        """Read what the database holds; rows that another release wrote otherwise are left out."""
        row = stored.mapping(value)
        return cls(
            next((layout for layout in Layout if layout == row.get("layout")), Layout.MODELS),
            tuple(_readable(Component, row.get("components"))),
            tuple(_readable(PackageFinding, row.get("findings"))),
            stored.text(row.get("decoder")),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that ``read`` reads."""
        return asdict(self)

    @property
    def errors(self) -> tuple[PackageFinding, ...]:
        """The findings that say that the package cannot be used as it is."""
        return tuple(row for row in self.findings if row.severity == Severity.ERROR)

    @property
    def task(self) -> str:
        """The task that the layout and its parts imply; empty where they leave it open."""
        if self.decoder:
            return "text-generation"
        roles = {component.role for component in self.components}
        if self.layout == Layout.DIFFUSERS and {Role.TEXT, Role.DENOISER} <= roles:
            return "text-to-image"
        return _TASKS.get(self.layout, "")

    @property
    def summary(self) -> str:
        """The layout and the number of components, such as "Transducer, 4 components"."""
        return f"{self.layout.label}, {plural(len(self.components), 'component')}"


class _Part(Protocol):
    """A component, as the engine or an answer of the API has it."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def model(self) -> str: ...


def model_of(components: Iterable[_Part], component: str) -> str:
    """The path of the ONNX file of a component, by its name or else its role.

    Of several components of a role, the first one counts. Raises ComponentMissing.
    """
    parts = [part for part in components if part.model]
    named = [part.model for part in parts if part.name == component]
    for model in (*named, *(part.model for part in parts if part.role == component)):
        return model
    names = ", ".join(part.name for part in parts) or "none"
    raise problems.ComponentMissing(
        f"The package has no component {component!r} with an ONNX file. It has {names}."
    )


def may_be_one(paths: Iterable[str]) -> bool:
    """Whether files can be more than a single model: several ONNX files, a config or tokens."""
    names = [path.rsplit("/", 1)[-1] for path in paths]
    models = sum(name.lower().endswith(MODEL_ENDING) for name in names)
    return models > 1 or (models == 1 and not {*CONFIGS, *VOCABULARIES}.isdisjoint(names))


def _readable(kind: type[_Row], values: object) -> Iterator[_Row]:
    """The rows of a stored list that can be read."""
    for row in stored.rows(values):
        try:
            yield strict.Reader().read(kind, row)
        except strict.UnreadableError:
            continue
