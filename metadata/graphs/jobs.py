"""A job as RDF: what it was, when it ran, and the steps of a version's graph that it made.

Nothing of its input, its requester, its worker or its errors is stated.
"""

from __future__ import annotations

from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places
from metadata.rdf.quads import link, moment, string
from metadata.rdf.terms import RDFS
from runners.models import Job


def job_graph(of: Job, nquads: str, home: str) -> str:
    """The graph of a job as N-Quads; ``nquads`` is the graph of its version, which names its steps.

    ``nquads`` is empty for a job without a version, and for a version without a graph.
    """
    places = Places(home)
    iri = places.job(str(of.pk))
    graph = Graph(places.catalogue, places)
    version = ""
    if of.version is not None:
        model = of.version.model
        version = places.version(model.namespace.slug, model.name, of.version.number)
    graph.describe(
        iri,
        "prov:Activity",
        {
            "dcterms:identifier": string(of.pk),
            "dcterms:title": string(of.kind),
            "prov:used": link(version),
            "prov:wasAssociatedWith": link(places.worker) if of.started_at else "",
            "prov:startedAtTime": moment(of.started_at),
            "prov:endedAtTime": moment(of.finished_at),
        },
    )
    lines = nquads.splitlines(keepends=True)
    step = f" <{RDFS}seeAlso> <{iri}> "
    steps = {line.partition(" ")[0] for line in lines if step in line}
    return graph.text() + "".join(line for line in lines if line.partition(" ")[0] in steps)
