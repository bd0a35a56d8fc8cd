"""The kinds of results that a version can have, and what a signed statement says of each.

A result has a name that is unique in its version, and a run that tells it from an earlier one of
the same name: rows of one name and run never change. Capabilities that sign results read them here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hub.protocol import canonical
from hub.protocol.ports import Port
from registry.models import Check, Version

_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Build:
    """How a variant was made: the kind of job, its parameters, and the files that it started from.

    ``sources`` have the SHA-256 of each file by its path, as hex digits. ``job`` is the id of the
    job, ``method`` the version of its method, ``versions`` those of the engine's libraries.
    """

    kind: str
    parameters: dict[str, Any]
    sources: dict[str, str]
    job: str
    method: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """What a worker or a check found: headline facts, and the document that has the rest.

    ``files`` have the SHA-256 of each file that it is about, as hex digits, by its path or its
    variant; none for all of the version. ``build`` is there for a variant that was made here.
    """

    name: str
    run: str
    facts: dict[str, Any]
    details: Any = None
    files: dict[str, str] = field(default_factory=dict)
    build: Build | None = None

    @property
    def details_digest(self) -> str:
        """The digest of the details as canonical JSON; empty without any."""
        if self.details is None:
            return ""
        return f"sha256:{hashlib.sha256(canonical.encode(plain(self.details))).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ResultKind:
    """A kind of results: its name, its events, and what reads all that a version has.

    After the events ``removals`` a result may be gone.
    """

    name: str
    verbs: tuple[str, ...]
    read: Callable[[Version], Iterable[Result]]
    removals: tuple[str, ...] = ()


result_kinds = Port(ResultKind)


def of(version: Version) -> list[tuple[ResultKind, Result]]:
    """Every result that a version has now, with its kind."""
    return [(kind, result) for kind in result_kinds for result in kind.read(version)]


def plain(value: Any) -> Any:
    """The same data with a canonical form in every database: large and infinite numbers too."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT else plain(float(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def checks(version: Version) -> Iterable[Result]:
    """The settled checks of a version; one that was repeated has another run."""
    for row in version.checks.exclude(outcome=Check.Outcome.PENDING).order_by("kind"):
        facts = {"check": row.kind, "outcome": row.outcome, "required": row.required}
        yield Result(f"check/{row.kind}", row.updated_at.isoformat(), facts, row.report)


CHECKS = ResultKind("check", ("check.finished",), checks)
