"""Tombstones: statements that outlive a withdrawn thing, with time, user and reason.

PROV-O says that an entity was invalidated by an activity, ADMS which status it has. A yanked
version is deprecated, which is another matter: its files are still served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.protocol.cards import LASTING_FIELDS, LASTING_PARTS
from metadata.graphs.facts import WithdrawalFacts
from metadata.rdf.graph import Graph
from metadata.rdf.quads import link, moment, words
from metadata.rdf.terms import ADMS_STATUS


def describe(graph: Graph, subject: str, of: WithdrawalFacts) -> None:
    """State that ``subject`` was withdrawn."""
    activity = f"{subject}#withdrawal"
    graph.state(
        subject,
        {
            "adms:status": link(f"{ADMS_STATUS}Withdrawn"),
            "prov:wasInvalidatedBy": link(activity),
            "prov:invalidatedAtTime": moment(of.at),
        },
    )
    graph.describe(
        activity,
        "prov:Activity",
        {
            "prov:endedAtTime": moment(of.at),
            "prov:wasAssociatedWith": link(graph.places.agent(of.by)) if of.by else "",
            "skos:changeNote": words(of.reason),
        },
    )


def claims(card: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of a card that outlive it: its data with licence and personal data, its bases."""
    return {name: _claims_of(card[name]) for name in LASTING_FIELDS if name in card}


def _claims_of(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_claims_of, value))
    if isinstance(value, dict):
        return {name: part for name, part in value.items() if name in LASTING_PARTS}
    return value
