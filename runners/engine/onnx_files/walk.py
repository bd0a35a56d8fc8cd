"""What one walk through a model's bytes carries along: the bytes, the budgets, what was found.

Names stay bytes until they are shown, since most of them never are.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runners.engine.onnx_files import text
from runners.engine.onnx_files.wire import Buffer, MalformedError
from runners.engine.reports import Finding, Severity

# Bounds on what a model may hold. All are far above any model in use and keep a scan in seconds.
MAX_DEPTH = 24
MAX_NODES = 250_000
MAX_ATTRIBUTES = 2_000_000
MAX_TENSORS = 500_000
MAX_VALUES = 1_000_000
MAX_FUNCTIONS = 20_000
MAX_DIMENSIONS = 64
MAX_NAME_BYTES = 64 << 10
MAX_TEXT_BYTES = 16 << 20

# How much of the file may stay mapped behind the walk.
_KEPT_BYTES = 8 << 20
_PATH_KEYS = 20
_PATH_KEY_CHARACTERS = 80


_FINDINGS_PER_CODE = 5
_WHERE_LIMIT = 300


class OverBudgetError(MalformedError):
    """The model holds more of something than the hub takes in."""


class Notes:
    """Findings of a scan. Further findings of one code are counted and reported in one line."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def add(self, code: str, severity: Severity, message: str, where: str = "") -> None:
        self._counts[code] += 1
        if self._counts[code] <= _FINDINGS_PER_CODE:
            message = text.clip(message, text.MESSAGE_LIMIT)
            self._findings.append(Finding(code, severity, message, text.clip(where, _WHERE_LIMIT)))

    def refuse(self, code: str, message: str, where: str = "") -> None:
        """Note what makes the model unacceptable; the scan continues to report the rest."""
        self.add(code, "error", message, where)

    @property
    def refused(self) -> bool:
        return any(finding.severity == "error" for finding in self._findings)

    def findings(self) -> tuple[Finding, ...]:
        findings = list(self._findings)
        for code, count in self._counts.items():
            if count > _FINDINGS_PER_CODE:
                severity = next(finding.severity for finding in findings if finding.code == code)
                more = count - _FINDINGS_PER_CODE
                findings.append(Finding(code, severity, f"And {more} more of the same kind."))
        return tuple(findings)


@dataclass(slots=True)
class External:
    """Where a tensor's bytes lie outside the model: a version path, first byte, length."""

    path: str
    offset: int
    length: int


@dataclass(slots=True)
class Tensor:
    """One tensor's claims; `stored` counts bytes, `start` and `stop` bound inline raw ones."""

    name: bytes = b""
    data_type: int = 0
    dimensions: tuple[int, ...] = ()
    elements: int = 0
    stored: int = 0
    start: int = 0
    stop: int = 0


@dataclass(slots=True)
class Attribute:
    """One attribute, as far as facts need it."""

    name: bytes = b""
    integer: int = 0
    tensors: list[Tensor] = field(default_factory=list)
    strings: int = 0
    leaves: int = 0
    floats: int = 0
    text_bytes: int = 0
    bodies: list[tuple[int, ...]] = field(default_factory=list)


class NodeUse(NamedTuple):
    """What a node reads and makes, by the names that its graph sees, and its bodies.

    ``integers`` are attributes, kept of the operators that say something about precision or
    attention.
    """

    sees: tuple[int, ...]
    domain: str
    operator: str
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    bodies: tuple[tuple[int, ...], ...] = ()
    integers: Mapping[bytes, int] = {}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a graph stands: its kind, how deep, and the graphs whose names it sees.

    ``sees`` holds the numbers of its own graph and of those around it, the innermost first; a
    function sees nothing of its caller.
    """

    kind: str
    depth: int = 0
    sees: tuple[int, ...] = (0,)

    @property
    def number(self) -> int:
        """The number of the graph itself."""
        return self.sees[0]


@dataclass(slots=True)
class Walk:
    """The state of one scan."""

    buffer: Buffer
    entry: str
    files: dict[str, int]
    # Files of the version that are Git LFS pointers.
    pointers: frozenset[str] = frozenset()
    notes: Notes = field(default_factory=Notes)
    trail: list[str | int] = field(default_factory=list)
    released: int = 0

    nodes: Counter[str] = field(default_factory=Counter)
    attributes: int = 0
    tensors: int = 0
    values: int = 0
    unknown_fields: int = 0

    operators: Counter[tuple[bytes, bytes]] = field(default_factory=Counter)
    sequence: bytearray = field(default_factory=bytearray)
    flow: list[NodeUse] = field(default_factory=list)
    words_of: dict[bytes, str] = field(default_factory=dict)
    # Inputs of graphs, by the graph's number; outputs of graphs and functions, by what they see.
    ports: set[tuple[int, bytes]] = field(default_factory=set)
    outputs: dict[tuple[int, ...], list[bytes]] = field(default_factory=dict)
    initializers: list[Tensor] = field(default_factory=list)
    sparse: int = 0
    weights: dict[tuple[int, bytes], Tensor] = field(default_factory=dict)
    attribute_weights: Counter[int] = field(default_factory=Counter)
    uncounted: Counter[tuple[bytes, bytes]] = field(default_factory=Counter)
    scopes: int = 0
    external: dict[str, list[External]] = field(default_factory=dict)
    tree_nodes: int = 0
    local_paths: int = 0
    local_path_where: str = ""
    local_path_keys: Counter[str] = field(default_factory=Counter)
    local_path_nodes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def inner(self, scope: Scope) -> Scope:
        """The scope of a graph that stands in a node of ``scope``."""
        kind = "subgraph" if scope.kind == "graph" else scope.kind
        self.scopes += 1
        return Scope(kind, scope.depth + 1, (self.scopes, *scope.sees))

    def function(self) -> Scope:
        """The scope of a function's body."""
        self.scopes += 1
        return Scope("function", 0, (self.scopes,))

    def weight(self, sees: tuple[int, ...], name: bytes) -> Tensor | None:
        """The stored tensor that a name means where these graphs are seen."""
        return next(
            (tensor for number in sees if (tensor := self.weights.get((number, name)))), None
        )

    def pass_by(self, position: int) -> None:
        """Let go of the pages already walked, so that memory does not grow with the weights."""
        if position - self.released >= _KEPT_BYTES and isinstance(self.buffer, mmap.mmap):
            end = position // mmap.PAGESIZE * mmap.PAGESIZE
            self.buffer.madvise(mmap.MADV_DONTNEED, self.released, end - self.released)
            self.released = end

    def where(self, last: str = "") -> str:
        """Say where the walk stands, for a person."""
        parts = [f"node {part}" if isinstance(part, int) else part for part in self.trail]
        return " / ".join([*parts, last] if last else parts)

    def refuse(self, code: str, message: str, last: str = "") -> None:
        self.notes.refuse(code, message, self.where(last))

    def spend(self, what: str, count: int, limit: int) -> None:
        if count > limit:
            raise OverBudgetError(
                f"The model has more than {limit:,} {what}; the hub accepts no more."
            )

    def name(self, start: int, end: int) -> bytes:
        """Read a name; raises OverBudgetError for one no person gave."""
        if end - start > MAX_NAME_BYTES:
            raise OverBudgetError(
                f"A name is {end - start:,} bytes long; at most 65,536 are accepted."
            )
        return self.buffer[start:end]

    def words(self, start: int, end: int, limit: int) -> str:
        """Read text for a fact, cut to ``limit`` characters."""
        if end - start > MAX_TEXT_BYTES:
            raise OverBudgetError("A text is longer than 16 MiB; the hub accepts no longer text.")
        return text.decode(self.buffer[start : min(end, start + limit * 4 + 4)], limit)

    def document(self, start: int, end: int, limit: int, key: str) -> str:
        """Read documentation for a fact; empty if it has paths of the author's machine."""
        before = self.local_paths
        self.look_for_local_paths(start, end, key)
        return "" if self.local_paths > before else self.words(start, end, limit)

    def look_for_local_paths(self, start: int, end: int, key: str) -> None:
        """Note documentation that has paths of the author's machine."""
        if text.names_local_path(self.buffer[start : min(end, start + 65536)]):
            self.note_local_path(key)

    def note_local_path(self, key: str, where: str = "") -> None:
        """Count a text that tells a folder, by its key; the first one's place is kept."""
        self.local_paths += 1
        # A key is an upload's own word: one that tells a folder itself is not repeated.
        safe = "a key" if text.names_local_path(key.encode("utf-8", "replace")) else key
        if safe in self.local_path_keys or len(self.local_path_keys) < _PATH_KEYS:
            self.local_path_keys[text.clip(safe, _PATH_KEY_CHARACTERS)] += 1
        self.local_path_where = self.local_path_where or where or self.where("metadata")
