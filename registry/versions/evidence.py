"""The kinds of results that a version can have; each capability registers its own at start.

A kind is named as the job that makes it, in addresses, in discussions and in the API.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from hub.protocol import problems
from registry.models import Version


@dataclass(frozen=True, slots=True)
class Evidence:
    """A kind of results: its name, what they are about, their page and their words.

    ``page`` and ``api`` continue the addresses of a version there, with {} for the id of the
    result. ``describe`` gives the outcome of a result by its id; it raises NotFound. ``scores``
    gives what this hub measured of a version as entries of `.eval_results` files.
    """

    kind: str
    subject: str
    page: str
    api: str
    describe: Callable[[Version, int], str]
    scores: Callable[[Version], list[dict[str, Any]]] | None = None


_kinds: dict[str, Evidence] = {}


def register(*kinds: Evidence) -> None:
    """Add kinds of evidence when their app is ready."""
    _kinds.update({evidence.kind: evidence for evidence in kinds})


def of_kind(kind: str) -> Evidence:
    """What is registered under a name; raises InvalidRequest."""
    if kind not in _kinds:
        raise problems.InvalidRequest.at(
            "/evidence/kind", f"Valid kinds of evidence: {', '.join(sorted(_kinds))}."
        )
    return _kinds[kind]


def scores(version: Version) -> list[dict[str, Any]]:
    """What this hub measured of a version, as entries of `.eval_results` files."""
    return [entry for kind in _kinds.values() if kind.scores for entry in kind.scores(version)]


def path(version: Version, kind: str, pk: int) -> str:
    """The page of a result of a version."""
    return f"/models/{version.model.ref}/v/{version.number}{of_kind(kind).page.format(pk)}"


def api_path(ref: str, number: int | None, kind: str, pk: int) -> str:
    """Where the API has a result of a version of the model ``ref``."""
    return f"models/{ref}/versions/{number}{of_kind(kind).api.format(pk)}"


def anchor(version: Version, kind: str, pk: int, node: str = "") -> str:
    """What the address of a new discussion needs to be about a result, or a node in it."""
    about = {"version": version.number, "evidence": f"{kind}/{pk}", "node": node}
    return "?" + urlencode({name: value for name, value in about.items() if value})
