"""Packages: the files of a version that belong together, and what contradicts among them.

The engine makes one from a version's files, the hub stores it, and clients read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from hub.counting import plural
from hub.protocol import strict

# How packages are recognised and checked; a higher number has each version checked again.
METHOD = 1


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
    def title(self) -> str:
        """The name of the layout for people."""
        return _TITLES[self]


_TITLES = {
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
    def place(self) -> str:
        """The file, with the field behind it."""
        return f"{self.file}: {self.field}" if self.field else self.file


class ComponentMissingError(LookupError):
    """The package has no such component; the message names those that it has."""


@dataclass(frozen=True, slots=True)
class Package:
    """A version's files as one package: its layout, components in order of preference, findings."""

    layout: Layout
    components: tuple[Component, ...] = ()
    findings: tuple[PackageFinding, ...] = ()

    @classmethod
    def read(cls, value: object) -> Package:
        """Read what the engine or a hub answers; raises strict.UnreadableError."""
        return strict.Reader().read(cls, value)

    def to_json(self) -> dict[str, Any]:
        """Plain data that ``read`` reads."""
        return asdict(self)

    @property
    def errors(self) -> tuple[PackageFinding, ...]:
        """The findings that say that the package cannot be used as it is."""
        return tuple(row for row in self.findings if row.severity == Severity.ERROR)

    @property
    def summary(self) -> str:
        """The layout and the number of components, such as "Transducer, 4 components"."""
        return f"{self.layout.title}, {plural(len(self.components), 'component')}"

    def model_of(self, component: str) -> str:
        """The path of the ONNX file of a component, by its name or else its role.

        Of several components of a role, the first one counts. Raises ComponentMissingError.
        """
        models = [row for row in self.components if row.model]
        for key in (lambda row: row.name, lambda row: row.role.value):
            for row in models:
                if key(row) == component:
                    return row.model
        raise ComponentMissingError(
            f"The package has no component {component!r} with an ONNX file. "
            f"It has {_listed(row.name for row in models)}."
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
