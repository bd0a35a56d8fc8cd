"""What the operations of several groups return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AccessRequest:
    """A request for access to a model's files, and its status."""

    user: str
    status: str
    message: str
    reason: str
    asked_at: datetime
    decided_at: datetime | None
    decided_by: str | None = None
    covers_private: bool | None = None


@dataclass(frozen=True, kw_only=True)
class CardFinding:
    """One problem of a card."""

    severity: str
    # line number in README.md, starting at 1
    line: int | None
    # for example training_data[1].personal_data; empty if the problem is with a line
    field: str
    # JSON pointer into the front matter, or /line/N
    pointer: str
    message: str
    cure: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check before publication, with its findings."""

    kind: str
    required: bool
    outcome: str
    report: Any


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """Why a model or version is deprecated, and what replaces it."""

    message: str
    at: datetime
    # reference of the model or version to use; empty without one that you can see
    successor: str


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of a version."""

    path: str
    size: int
    sha256: str
    derived: bool
    url: str


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token, without its secret."""

    id: int
    name: str
    prefix: str
    scopes: tuple[str, ...]
    namespace: str | None = None
    # names that the token is limited to, as far as you may know of them
    namespaces: tuple[str, ...] = ()
    # names that the token is limited to, as far as you may know of them
    models: tuple[str, ...] = ()
    is_limited: bool | None = None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class IssuedToken(Token):
    """A new token; only this response contains its secret."""

    token: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """The job whose result is shared, because both jobs have the same content."""

    uuid: str
    model: str
    number: int


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job with its progress and findings."""

    uuid: str
    kind: str
    pool: str
    # pool, plus the runtime if it has its own queue
    queue: str
    # features that a worker needs for the job
    requires: Any
    # none, or the resource the job needs exclusively: host or gpu
    exclusive: str
    # 0 has the highest priority
    priority: int
    state: str
    model: str | None = None
    number: int | None = None
    entry: str
    attempt: int
    max_attempts: int
    # percent
    progress: int
    phase: str
    message: str
    # deterministic: caused by the model, a retry would not help; errored, crash, timeout or lost:
    # caused by the hub; poison: the file crashed the process every time
    error_class: str
    error_detail: str
    report: Any
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    # alias of the worker; administrators see its name
    worker: str
    # alias of the worker; administrators see its name
    host: str
    # the job whose result this is, if another version has the same content and you can see it;
    # started_at and finished_at are then of that job
    shared_from: Source | None
    url: str


@dataclass(frozen=True, kw_only=True)
class JobSummary:
    """A job of a version, in short."""

    uuid: str
    kind: str
    state: str


@dataclass(frozen=True, kw_only=True)
class Membership:
    """A namespace with your role."""

    slug: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of the source about its evidence; not a result of this hub."""

    kind: str
    subject: str
    outcome: str


@dataclass(frozen=True, kw_only=True)
class MirroredFrom:
    """Where a version was mirrored from, as its source states it."""

    # address of the server
    url: str
    # the model there
    ref: str
    # commit there; empty if it was not stated
    commit_id: str
    manifest_sha256: str | None
    author: str
    published_at: str
    fetched_at: datetime
    # evidence that the source states; this hub did not measure it
    statements: tuple[Statement, ...]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The proof that an upgraded variant equals its original."""

    # `certified`: equal on every input that ran, and the conversion of each changed node is
    # certified bit by bit for the sizes and values that the model declares or its runs used;
    # `sampled`: equal on every input that ran; nothing is claimed for others; `schema`: no operator
    # of the model has a different meaning at the other opset; `partial`: equal where compared; but
    # a branch was never entered, an output or some of its elements prove nothing, or internal
    # values differ; `earlier-method`: recorded by an older method, without evidence; repeated in
    # the background
    strength: str
    # the proof as one sentence
    sentence: str
    # whether this hub loads this variant when its opset is requested
    chosen: bool
    # inputs with their ranges, nodes and branches that ran, outputs, differences and noise, judges,
    # certificates of changed nodes; null if recorded by an older method
    evidence: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Ref:
    """A name for a version."""

    name: str
    kind: str
    number: int


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session on a device."""

    id: int
    # the User-Agent of the browser
    device: str
    # of the last use that is kept
    address: str
    # time of the sign-in
    created_at: datetime
    # exact to ten minutes
    last_seen_at: datetime
    # whether this request is made with it
    is_current: bool


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One loadable model inside a version, with its facts."""

    name: str
    entry: str
    opset: int | None
    ir_version: int | None
    # whether ONNX Runtime on CPU, on GPU and in browsers, in the versions that this hub offers, all
    # load this opset and IR version
    portable: bool | None = None
    precision: str
    # number of stored values (elements) that outputs are computed with, those in attributes
    # included, and no settings such as scales or shapes; null if they were not counted
    parameters: int | None
    # multiply-accumulate operations of a run for usual sizes; null if they were not counted
    macs: int | None = None
    # bytes of weights and activations for usual sizes; null if they were not counted
    memory_bytes: int | None = None
    origin: str
    proof: Proof | None
    derived_from: str | None = None
    facts: Any


@dataclass(frozen=True, kw_only=True)
class VersionSummary:
    """A version, as shown in lists."""

    ref: str
    number: int
    state: str
    label: str
    message: str
    branch: str
    # aliases of this version
    aliases: tuple[str, ...] = ()
    # tags of this version
    tags: tuple[str, ...] = ()
    # branches of which it is the newest version
    branches: tuple[str, ...] = ()
    commit_id: str | None
    parent: str | None = None
    # null while it is a draft
    manifest_sha256: str | None
    publish_requested: bool
    reason: str
    notes: str
    created_by: str
    created_at: datetime
    submitted_at: datetime | None
    published_at: datetime | None
    ended_at: datetime | None
    # of the version itself; null if it has none
    deprecation: Deprecation | None = None
    url: str


@dataclass(frozen=True, kw_only=True)
class Version(VersionSummary):
    """A version with files, variants, checks and jobs."""

    files: tuple[File, ...]
    variants: tuple[Variant, ...]
    # what the card declares about each input; see docs/cards.md
    inputs: dict[str, dict[str, Any]]
    # what files in .eval_results claim: entries in the format of Hugging Face, each with file and
    # status (declared; unreadable with error). This hub verified none of them; what it measured is
    # under evaluations
    eval_results: tuple[dict[str, Any], ...] = ()
    checks: tuple[Check, ...]
    jobs: tuple[JobSummary, ...]
    # where the version was mirrored from; null if it was made here
    mirrored_from: MirroredFrom | None
