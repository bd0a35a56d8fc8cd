"""Contributions of a round as entities: who sent which bytes, and the signature that shows it.

Each has a graph of its own. They name participants, so no store that answers queries ever holds
them: they are written for each maintainer who requests them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import link, moment, part, string
from registry.federated.models import Contribution, Round

USED, LEFT_OUT = "used", ("rejected", "late")


def graphs(places: Places, of: Round, contributions: Iterable[Contribution]) -> Iterator[str]:
    """Each contribution's graph as sorted N-Quads; they come with their participants."""
    model = of.training.model
    training = f"{places.model(model.namespace.slug, model.name)}/trainings/{of.training.number}"
    for row in contributions:
        yield _graph(places, f"{training}/rounds/{of.number}", training, row).text()


def _graph(places: Places, activity: str, training: str, row: Contribution) -> Graph:
    sender = row.participant
    here = f"{activity}/contributions/{part(sender.pseudonym)}"
    agent = f"{training}/participants/{part(sender.pseudonym)}"
    graph = Graph(graph_of(here), places)
    graph.describe(
        here,
        "prov:Entity hub:Contribution",
        {
            "prov:generatedAtTime": moment(row.received_at),
            "prov:wasAttributedTo": link(agent),
            "hub:manifest": string(row.manifest),
            "hub:signature": string(row.signature),
        },
    )
    graph.add_checksum(here, f"{here}#sha256", row.sha256)
    graph.describe(
        agent,
        "prov:Agent",
        {
            "dcterms:identifier": string(sender.pseudonym),
            "hub:publicKey": string(sender.public_key),
        },
    )
    if row.state == USED:
        graph.describe(activity, "prov:Activity hub:FederatedRound", {"prov:used": link(here)})
    elif row.state in LEFT_OUT:
        graph.add(here, "hub:reason", string(row.problem or row.state))
    return graph
