"""Display data of a version's ancestors and descendants: relation and address of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from frontend.parts import labels
from frontend.parts.svg import diagrams
from frontend.presenters import version_head
from hub.protocol import derivations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hub.protocol.cards import Card
    from metadata.graphs.relatives import LineageNode
    from registry.models import Version

_CLIPPED = 200
# Steps on either side that are drawn; the list has them all.
_DRAWN = 2


@dataclass(slots=True)
class Line:
    """One model of the list, and those that hang on it.

    ``relation`` is what was done between it and the one above; ``kind`` is declared for what a card
    says and recorded for what a job of the hub did.
    """

    words: str
    url: str
    relation: str
    kind: str
    note: str = ""
    outside: bool = False
    lines: list[Line] = field(default_factory=list)


def relation(card: Card) -> str:
    """What a card says was done to what it is based on; derived where it says nothing known."""
    if derivation := derivations.declared(card):
        return derivation.adjective
    return f"derived (“{diagrams.cut(card.relation, 40)}”)" if card.relation else "derived"


def ancestors(relatives: Iterable[LineageNode]) -> list[Line]:
    """Ancestors: each line is a base, what hangs on it are its own bases."""
    return [_line(node, f"{relation(node.card)} to the model above") for node in relatives]


def descendants(relatives: Iterable[LineageNode]) -> list[Line]:
    """Descendants: each line is made from the one it hangs on."""
    return [_line(node, relation(node.card)) for node in relatives]


def variants(version: Version) -> list[Line]:
    """What the hub itself derived inside a version."""
    names = {row.pk: row.name for row in version_head.variants(version)}
    lines = []
    for row in version_head.variants(version):
        source = names.get(row.derived_from_id or 0)
        if source is None:
            continue
        lines.append(
            Line(
                f"{version.model.name}@{version.number}:{row.name}",
                f"{version_head.place(version, 'version')}?{urlencode({'variant': row.name})}",
                f"{row.origin} to {labels.target(row)} from {source}",
                "recorded",
                "a variant of this version",
            )
        )
    return lines


def drawn(version: Version, up: Sequence[Line], own: Sequence[Line], down: Sequence[Line]) -> str:
    """The same as a drawing: two steps up on the left, two steps down on the right."""
    boxes = [diagrams.Box("self", 0, version.ref, "this version", "self")]
    lines: list[tuple[str, str]] = []

    def add(rows: Iterable[Line], key: str, step: int, sign: int) -> None:
        for index, row in enumerate(rows):
            here = f"{key}.{sign}.{index}"
            note = row.relation.removesuffix(" to the model above")
            boxes.append(diagrams.Box(here, step * sign, row.words, note))
            lines.append((key, here) if sign > 0 else (here, key))
            if step < _DRAWN:
                add(row.lines, here, step + 1, sign)

    add(up, "self", 1, -1)
    add([*own, *down], "self", 1, 1)
    return diagrams.draw(boxes, lines)


def _line(node: LineageNode, relation: str) -> Line:
    hanging = ancestors if relation.endswith("the model above") else descendants
    if node.version is None:
        where = "external" if node.address else "not on this hub"
        return Line(
            diagrams.cut(node.named, _CLIPPED), node.address, relation, "declared", where,
            outside=bool(node.address),
        )  # fmt: skip
    notes = ["yanked"] if node.version.state == "yanked" else []
    if node.others:
        notes.append(f"and {node.others} earlier version{'s' if node.others != 1 else ''}")
    if node.again:
        notes.append("already listed")
    return Line(
        node.version.ref, version_head.place(node.version), relation, "declared", "; ".join(notes),
        lines=hanging(node.relatives),
    )  # fmt: skip
