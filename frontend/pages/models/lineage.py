"""Display data of a version's ancestors and descendants: relation and address of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from frontend.parts import labels
from frontend.parts.svg import diagrams
from frontend.presenters import version_head
from hub.protocol import derivations
from hub.protocol.cards import Card
from metadata.graphs.relatives import LineageNode
from registry.models import Version

_CLIPPED = 200
# Steps on either side that are drawn; the list has them all.
_DRAWN = 2


def relation(card: Card) -> str:
    """What a card says was done to what it is based on; derived where it says nothing known."""
    if derivation := derivations.declared(card):
        return derivation.adjective
    return f"derived (“{diagrams.cut(card.relation, 40)}”)" if card.relation else "derived"


def ancestors(relatives: Iterable[LineageNode]) -> list[dict[str, Any]]:
    """Ancestors: each line is a base, what hangs on it are its own bases."""
    return [_line(node, f"{relation(node.card)} to the model above") for node in relatives]


def descendants(relatives: Iterable[LineageNode]) -> list[dict[str, Any]]:
    """Descendants: each line is made from the one it hangs on."""
    return [_line(node, relation(node.card)) for node in relatives]


def variants(version: Version) -> list[dict[str, Any]]:
    """What the hub itself derived inside a version."""
    names = {row.pk: row.name for row in version_head.variants(version)}
    place = version_head.place(version)
    lines = []
    for row in version_head.variants(version):
        source = names.get(row.derived_from_id or 0)
        if source is None:
            continue
        lines.append(
            {
                "words": f"{version.model.name}@{version.number}:{row.name}",
                "url": f"{place}?{urlencode({'variant': row.name})}",
                "relation": f"{row.origin} to {labels.target(row)} from {source}",
                "kind": "recorded",
                "note": "a variant of this version",
            }
        )
    return lines


def drawn(
    version: Version,
    up: Sequence[dict[str, Any]],
    own: Sequence[dict[str, Any]],
    down: Sequence[dict[str, Any]],
) -> str:
    """The same as a drawing: two steps up on the left, two steps down on the right."""
    boxes = [diagrams.Box("self", 0, version.ref, "this version", "self")]
    lines: list[tuple[str, str]] = []

    def add(rows: Iterable[dict[str, Any]], key: str, step: int, sign: int) -> None:
        for index, row in enumerate(rows):
            here = f"{key}.{sign}.{index}"
            note = row["relation"].removesuffix(" to the model above")
            boxes.append(diagrams.Box(here, step * sign, row["words"], note))
            lines.append((key, here) if sign > 0 else (here, key))
            if step < _DRAWN:
                add(row.get("lines", ()), here, step + 1, sign)

    add(up, "self", 1, -1)
    add([*own, *down], "self", 1, 1)
    return diagrams.draw(boxes, lines)


def _line(node: LineageNode, relation: str) -> dict[str, Any]:
    hanging = ancestors if relation.endswith("the model above") else descendants
    if node.version is None:
        where = "external" if node.address else "not on this hub"
        return {
            "words": diagrams.cut(node.named, _CLIPPED),
            "url": node.address,
            "relation": relation,
            "kind": "declared",
            "note": where,
            "outside": bool(node.address),
        }
    notes = [str(node.version.state)] if node.version.state in ("yanked", "withdrawn") else []
    if node.version.model.deleted_at is not None:
        notes.append("deleted")
    if node.others:
        notes.append(f"and {node.others} earlier version{'s' if node.others != 1 else ''}")
    if node.again:
        notes.append("already listed")
    return {
        "words": node.version.ref,
        "url": version_head.place(node.version),
        "relation": relation,
        "kind": "declared",
        "note": "; ".join(notes),
        "lines": hanging(node.relatives),
    }
