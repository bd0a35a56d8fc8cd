"""Contributions of a round as entities: who sent which bytes, and the signature that shows it.

Each has a graph of its own. They name participants, so no store that answers queries ever holds
them: they are made anew for each maintainer who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.terms import DCTERMS, PROV, SPDX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from registry.federated.models import Contribution, Round

USED, LEFT_OUT = "used", ("rejected", "late")


def graphs(places: Places, of: Round, given: Iterable[Contribution]) -> Iterator[str]:
    """Each contribution's graph as sorted N-Quads; ``given`` come with their participants."""
    model = of.training.model
    training = f"{places.model(model.namespace.slug, model.name)}/trainings/{of.training.number}"
    for row in given:
        yield _graph(places, f"{training}/rounds/{of.number}", training, row).text()


def _graph(places: Places, activity: str, training: str, row: Contribution) -> quads.Graph:
    sender = row.participant
    here = f"{activity}/contributions/{quads.part(sender.pseudonym)}"
    agent = f"{training}/participants/{quads.part(sender.pseudonym)}"
    graph = quads.Graph(graph_of(here))
    graph.type(here, f"{PROV}Entity", places.term("Contribution"))
    graph.add(here, f"{PROV}generatedAtTime", quads.moment(row.received_at))
    graph.add(here, f"{PROV}wasAttributedTo", quads.link(agent))
    graph.add(here, f"{SPDX}checksum", quads.link(f"{here}#sha256"))
    graph.type(f"{here}#sha256", f"{SPDX}Checksum")
    algorithm = quads.link(f"{SPDX}checksumAlgorithm_sha256")
    graph.add(f"{here}#sha256", f"{SPDX}algorithm", algorithm)
    value = quads.typed(row.sha256, "hexBinary")
    graph.add(f"{here}#sha256", f"{SPDX}checksumValue", value)
    graph.add(here, places.term("manifest"), quads.string(row.manifest))
    graph.add(here, places.term("signature"), quads.string(row.signature))
    graph.type(agent, f"{PROV}Agent")
    graph.add(agent, f"{DCTERMS}identifier", quads.string(sender.pseudonym))
    graph.add(agent, places.term("publicKey"), quads.string(sender.public_key))
    if row.state == USED:
        graph.type(activity, f"{PROV}Activity", places.term("FederatedRound"))
        graph.add(activity, f"{PROV}used", quads.link(here))
    elif row.state in LEFT_OUT:
        graph.add(here, places.term("reason"), quads.string(row.problem or row.state))
    return graph
