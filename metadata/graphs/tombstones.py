"""Tombstones: statements that outlive a withdrawn thing, with time, user and reason.

PROV-O says that an entity was invalidated by an activity, ADMS which status it has. A yanked
version is deprecated, which is another matter: its files are still served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metadata.rdf.quads import link, moment, words
from metadata.rdf.terms import ADMS_STATUS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metadata.graphs.facts import WithdrawalFacts
    from metadata.rdf.graph import Graph

# Fields of a card's data set that are names or claims; the rest may be what was withdrawn.
_CLAIM_FIELDS = frozenset(
    {"iri", "doi", "url", "name", "id", "license", "personal_data", "categories", "legal_basis"}
)
_LISTS = ("training_data", "datasets", "validated_on", "tested_on")
_LINEAGE = ("base_model", "base_model_relation")


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
    rest: dict[str, Any] = {
        name: card[name] for name in (*_LINEAGE, "personal_data") if name in card
    }
    if isinstance(rest.get("personal_data"), dict):
        rest["personal_data"] = _only(rest["personal_data"], {"status", *_CLAIM_FIELDS})
    for name in _LISTS:
        rows = card.get(name)
        if isinstance(rows, list):
            rest[name] = list(map(_claims_of, rows))
        elif rows is not None:
            rest[name] = _claims_of(rows)
    return rest


def _claims_of(row: Any) -> Any:
    return _only(row, _CLAIM_FIELDS) if isinstance(row, dict) else row


def _only(row: dict[str, Any], names: frozenset[str] | set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name in names}
