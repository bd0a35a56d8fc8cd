"""Which results a discussion can be about: capabilities above register how theirs are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol import problems
from registry.models import Discussion

if TYPE_CHECKING:
    from collections.abc import Callable

    from registry.models import Version

    # A result of a version in a few words, by its id; raises NotFound.
    Find = Callable[[Version, int], str]

_kinds: dict[str, Find] = {}


def register(kind: str, find: Find) -> None:
    """Add a kind of evidence when its app is ready."""
    _kinds[kind] = find


def describe(version: Version, kind: str, pk: int) -> str:
    """A result of a version in a few words; raises NotFound, InvalidRequest."""
    find = _kinds.get(kind)
    if find is None:
        raise problems.InvalidRequest.at(
            "/evidence/kind", f"Valid kinds of evidence: {', '.join(Discussion.Evidence.values)}."
        )
    return find(version, pk)


def title(of: Discussion) -> str:
    """The result that a discussion is about, in a few words; empty without one, or if gone."""
    if of.version is None or of.evidence_id is None:
        return ""
    try:
        return describe(of.version, of.evidence_kind, of.evidence_id)
    except problems.NotFound:
        return ""
