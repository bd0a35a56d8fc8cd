"""The facts of which graphs are made, all read before, so that a projection needs no database.

What came from a card or from a process that read an upload is kept as it came, in dicts: the
projection takes of it what has the expected shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from hub.protocol.facts import Facts
from metadata.graphs.version_parts import Describe
from runners.engine.reports import FileCheck
from runners.models import ConformanceResult, Evaluation, Job


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file; ``source`` is the path of the one that a copy with more metadata was made from."""

    path: str
    sha256: str
    size_bytes: int
    derived: bool = False
    source: str = ""


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
    facts: Facts = field(default_factory=Facts)
    source: str = ""
    derivation: dict[str, Any] = field(default_factory=dict)
    proof_strength: str = ""
    proof_sentence: str = ""
    job: Job | None = None
    # Paths of the files besides the entry that it needs.
    external: tuple[str, ...] = ()
    macs: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CheckFacts:
    kind: str
    outcome: str
    files: tuple[FileCheck, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class BaseFacts:
    """A model that a card is based on, as ``named`` there, and the version that is meant.

    ``has_number`` says whether the card names the version itself.
    """

    named: str
    namespace: str
    name: str
    number: int
    has_number: bool = False


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """A data set of this hub, and the keys of the names that mean it on cards."""

    slug: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WithdrawalFacts:
    """The withdrawal of a thing: time, reason and user (empty where no event names one)."""

    at: datetime
    reason: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class DeprecationFacts:
    """A deprecation; the successor is (namespace, name), with a number if it is a version."""

    message: str
    successor: tuple[str, str] | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class DatasetVersionFacts:
    """A version of a data set; ``splits`` are names with the paths of their files."""

    number: int
    sha256: str
    created_at: datetime
    message: str = ""
    files: tuple[FileFacts, ...] = ()
    splits: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """Everything that a data set's graph tells; ``publisher`` is the namespace whose word it is."""

    slug: str
    publisher: AgentFacts
    title: str
    created_at: datetime
    updated_at: datetime
    description: str = ""
    iri: str = ""
    licenses: tuple[str, ...] = ()
    personal_data: str = "unknown"
    categories: tuple[str, ...] = ()
    legal_basis: str = ""
    source: str = ""
    rows: int | None = None
    size_bytes: int | None = None
    collected_on: date | None = None
    # The newest first, which alone has its files and splits.
    versions: tuple[DatasetVersionFacts, ...] = ()
    withdrawal: WithdrawalFacts | None = None


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """A user or an organisation: the name in addresses of the hub, and the one for people."""

    name: str
    organisation: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """Everything that a version's graph tells; licence and words are the card's, else the model's.

    ``variants`` are in order: the first is the one that a reference without a variant loads.
    ``bases`` and ``entries`` are what names in the card mean here; ``undecided`` are names of base
    models that may mean one here or one elsewhere. ``parts`` write what else is stated.
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
    licenses: tuple[str, ...] = ()
    license_expression: str = ""
    task: str = ""
    keywords: tuple[str, ...] = ()
    card: dict[str, Any] = field(default_factory=dict)
    files: tuple[FileFacts, ...] = ()
    variants: tuple[VariantFacts, ...] = ()
    checks: tuple[CheckFacts, ...] = ()
    results: tuple[ConformanceResult, ...] = ()
    measured: tuple[Evaluation, ...] = ()
    parts: tuple[Describe, ...] = ()
    is_gated: bool = False
    bases: tuple[BaseFacts, ...] = ()
    undecided: tuple[str, ...] = ()
    entries: tuple[EntryFacts, ...] = ()
    withdrawal: WithdrawalFacts | None = None
    deprecation: DeprecationFacts | None = None


@dataclass(frozen=True, slots=True)
class FormerFacts:
    """A name that a model had, and the versions that were published under it."""

    namespace: str
    name: str
    versions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model and its released versions; ``card_licenses`` is what the newest one's card says."""

    namespace: AgentFacts
    name: str
    created_at: datetime
    published_at: datetime | None
    summary: str = ""
    licenses: tuple[str, ...] = ()
    task: str = ""
    keywords: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    newest: int | None = None
    card_licenses: tuple[str, ...] = ()
    is_gated: bool = False
    former: tuple[FormerFacts, ...] = ()
    withdrawal: WithdrawalFacts | None = None
    deprecation: DeprecationFacts | None = None
