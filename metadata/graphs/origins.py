"""Where a version was brought from, as imports write into cards.

It is the publisher's claim, like all of a card, and no ancestor: the bytes are the same ones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from metadata.rdf.graph import Graph
from metadata.rdf.quads import foreign, link, moment, string, words

# Field of a card -> its parts with the place, the revision of it, its date and its title.
_FIELDS = {
    "mirrored_from": ("url", "commit", "date", "message"),
    "imported_from": ("manifest", "", "", "model"),
    "packaged_in": ("package", "version", "", ""),
}


def describe(graph: Graph, version: str, card: dict[str, Any]) -> None:
    """State at which place, and in which revision of it, the bytes of ``version`` were before."""
    for field, names in _FIELDS.items():
        origin = card.get(field)
        if isinstance(origin, dict):
            place, revision, date, title = (str(origin.get(name) or "").strip() for name in names)
            if place:
                _source(graph, version, place, revision, date, title)
            return


def _source(graph: Graph, version: str, place: str, revision: str, date: str, title: str) -> None:
    node, iri = f"{version}#source", foreign(place)
    graph.state(version, {"prov:hadPrimarySource": link(node), "dcterms:source": link(iri)})
    graph.describe(
        node,
        "prov:Entity",
        {
            "prov:specializationOf": link(iri),
            "dc:source": "" if iri else string(place),
            "dcat:version": string(revision),
            "dcterms:issued": moment(_moment(date)),
            "dcterms:title": words(title),
        },
    )


def _moment(text: str) -> datetime | None:
    """A time as ISO 8601 has it, in UTC where it names no zone; None for anything else."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
