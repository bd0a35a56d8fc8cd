"""What the page of a result says of the discussions about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontend.parts import addresses
from registry.discussions import selectors

if TYPE_CHECKING:
    from registry.core.permissions import Actor
    from registry.models import Version


def of(actor: Actor, version: Version, kind: str, pk: int, *, node: str = "") -> dict[str, Any]:
    """The context of ``discussions/discussed.html`` for one result of a version."""
    about = {"version": version.number, "evidence": f"{kind}/{pk}", "node": node}
    return {
        "discussed": selectors.about(actor, version, kind, [pk]).get(pk, []),
        "discussed_query": addresses.join("", about),
    }
