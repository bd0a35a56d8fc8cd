"""Where a version was brought from, as `hub import hf` and `hub import zoo` write into cards.

It is the publisher's claim, like all of a card, and no ancestor: the bytes are the same ones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from metadata.rdf import quads
from metadata.rdf.terms import DC, DCAT, DCTERMS, PROV

if TYPE_CHECKING:
    from metadata.rdf.quads import Graph

# Field of a card -> its parts with the place, the state of it, its date and its words.
_FIELDS = {
    "mirrored_from": ("url", "commit", "date", "message"),
    "imported_from": ("manifest", "", "", "model"),
}


def tell(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """Tell of ``version`` at which place, and which state of it, its bytes were before."""
    for field, names in _FIELDS.items():
        said = card.get(field)
        if isinstance(said, dict):
            _source(graph, version, *(str(said.get(name) or "").strip() for name in names))
            return


def _source(graph: Graph, version: str, place: str, state: str, date: str, words: str) -> None:
    if not place:
        return
    node, iri = f"{version}#source", quads.foreign(place)
    graph.add(version, f"{PROV}hadPrimarySource", quads.link(node))
    graph.add(version, f"{DCTERMS}source", quads.link(iri))
    graph.type(node, f"{PROV}Entity")
    graph.add(node, f"{PROV}specializationOf", quads.link(iri))
    if not iri:
        graph.add(node, f"{DC}source", quads.string(place))
    graph.add(node, f"{DCAT}version", quads.string(state))
    graph.add(node, f"{DCTERMS}issued", quads.moment(_moment(date)))
    graph.add(node, f"{DCTERMS}title", quads.words(words))


def _moment(text: str) -> datetime | None:
    """A time as ISO 8601 has it, in UTC where it names no zone; None for whatever else."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
