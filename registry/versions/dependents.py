"""What stops working, or names another thing than before, when a version is yanked or withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hub.protocol import problems
from hub.protocol.ports import Port
from registry.core.permissions import Actor, require
from registry.models import Ref, Version
from registry.versions import selectors

MOST_NAMES = 10


@dataclass(frozen=True, slots=True)
class VersionDependent:
    """A thing that needs a version: its kind, such as `alias` or `training`, and its name."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class VersionUse:
    """A kind of thing that needs versions: its name, and those of a version that a user may see."""

    name: str
    of: Callable[[Actor, Version], Iterable[VersionDependent]]


version_uses = Port(VersionUse)


def dependents(actor: Actor, version: Version) -> list[VersionDependent]:
    """What needs a version, as far as the actor may see it; raises NotAllowed.

    It is for those who may yank the version. What is hidden from them is neither named nor counted.
    """
    require(actor, "version.yank", version.model)
    return [dependent for use in version_uses for dependent in use.of(actor, version)]


def expect_none(actor: Actor, version: Version) -> None:
    """Raise StateConflict, with what needs a version, if something does."""
    rows = dependents(actor, version)
    if not rows:
        return
    names = ", ".join(f"{row.kind} {row.name}" for row in rows[:MOST_NAMES])
    more = f" and {len(rows) - MOST_NAMES} more" if len(rows) > MOST_NAMES else ""
    raise problems.StateConflict(
        f"These depend on {version.ref}: {names}{more}. Move or end them first, or set "
        "breaks_dependents to go on all the same.",
        dependents=[{"kind": row.kind, "name": row.name} for row in rows],
    )


def names_of(actor: Actor, version: Version) -> Iterable[VersionDependent]:
    """The aliases and tags of a version."""
    rows = selectors.refs_of(actor, version.model).filter(version=version)
    for kind, name in rows.exclude(kind=Ref.Kind.BRANCH).values_list("kind", "name"):
        yield VersionDependent(kind, name)
