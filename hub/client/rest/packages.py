"""The REST operations of packages, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, model_path, part


@dataclass(frozen=True, kw_only=True)
class Component:
    """A part of a package."""

    # unique in the package
    name: str
    role: str
    # path of its ONNX file; empty if it has none
    model: str
    # paths of all its files
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GenerationCheck:
    """A comparison of passes of a decoder."""

    check: str
    title: str
    outcome: str
    message: str
    # first token that differs, from 0
    position: int | None
    # largest absolute difference of its scores
    difference: float | None


@dataclass(frozen=True, kw_only=True)
class GenerationSample:
    """What one process measured."""

    # from the prompt to its first token
    first_seconds: float
    # of each further token
    step_seconds: tuple[float, ...]
    # beyond what the process had before it loaded the model
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class GenerationSpeed:
    """Generation after a prompt, on one core."""

    # tokens of the prompt
    context: int
    first_token_ms: float | None
    first_token_status: str
    tokens_per_second: float | None
    tokens_per_second_status: str
    memory_bytes: float | None
    # of keys and values of prompt and steps
    cache_bytes: int
    # raw samples, by process
    samples: tuple[GenerationSample, ...]


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How the decoder of a package generates."""

    # path of the ONNX file
    model: str
    # tokens that its config states
    context_length: int | None
    # why nothing was measured
    reason: str
    # of the runtimes, by name
    versions: dict[str, str] | None
    checks: tuple[GenerationCheck, ...]
    speeds: tuple[GenerationSpeed, ...]


@dataclass(frozen=True, kw_only=True)
class PackageFinding:
    """A contradiction between the files of a package."""

    code: str
    severity: str
    file: str
    # key in the file; empty if the finding is about the whole file
    field: str
    message: str
    # what to do about it
    cure: str


@dataclass(frozen=True, kw_only=True)
class VersionPackage:
    """The files of a version as one package, and what contradicts among them."""

    state: str
    checked_at: datetime | None
    # empty if the package is not checked
    layout: str | None = None
    # name of the layout for people
    title: str | None = None
    components: tuple[Component, ...]
    findings: tuple[PackageFinding, ...]
    # null if the package has no decoder or it is not measured yet
    generation: Generation | None = None


class PackagesGroup(Group):
    """The operations of packages."""

    def read(self, model: str, number: int) -> VersionPackage:
        """Read the layout of a version's files, its components, and the findings among them."""
        return self._call(
            VersionPackage, "GET", f"models/{model_path(model)}/versions/{part(number)}/package"
        )
