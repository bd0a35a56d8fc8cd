"""What a projection is made from: plain values, so that it needs no database and always says same.

What came from a card or from a process that read an upload is kept as found, in dicts: the
projection takes of it what has the expected shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class FileFacts:
    path: str
    sha256: str
    size_bytes: int
    derived: bool = False


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The job that made a variant: what it ran, and when."""

    uuid: str
    kind: str
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class VariantFacts:
    """A loadable model; ``source`` is the variant that a derived one was made from."""

    name: str
    entry: str
    origin: str = "uploaded"
    opset: int | None = None
    ir_version: int | None = None
    precision: str = ""
    parameters: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    derivation: dict[str, Any] = field(default_factory=dict)
    job: JobFacts | None = None


@dataclass(frozen=True, slots=True)
class CheckFacts:
    kind: str
    outcome: str
    report: dict[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """A conformance result; ``outcome`` is a word of EARL."""

    key: int
    variant: str
    runtime: str
    runtime_version: str
    check: str
    outcome: str
    blames: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """Somebody or an organisation, by the name that addresses of the hub know."""

    name: str
    organisation: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """Everything that a version's graph tells; licence and words are the card's, else the model's.

    ``variants`` are in order: the first is the one that a reference without a variant loads.
    """

    namespace: str
    name: str
    number: int
    state: str
    uploader: str
    created_at: datetime
    published_at: datetime | None
    ended_at: datetime | None = None
    label: str = ""
    reason: str = ""
    manifest_sha256: str = ""
    previous: int | None = None
    summary: str = ""
    body: str = ""
    license: str = ""
    task: str = ""
    keywords: tuple[str, ...] = ()
    card: dict[str, Any] = field(default_factory=dict)
    files: tuple[FileFacts, ...] = ()
    variants: tuple[VariantFacts, ...] = ()
    checks: tuple[CheckFacts, ...] = ()
    results: tuple[ResultFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model and its released versions, each with the label that people know it by."""

    namespace: AgentFacts
    name: str
    created_at: datetime
    published_at: datetime | None
    summary: str = ""
    license: str = ""
    task: str = ""
    keywords: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    newest: int | None = None
    uploaders: tuple[str, ...] = ()
