"""The form of a figure in every graph, for any author and subject.

`metadata.sparql` asks for this form; a figure that nobody has is not stated.
"""

from __future__ import annotations

from decimal import Decimal

from hub.protocol.figures import Kind, Status
from hub.protocol.intervals import Interval
from metadata.rdf.graph import Graph
from metadata.rdf.quads import decimal, link, string


def describe(
    graph: Graph,
    node: str,
    subject: str,
    metric: str,
    value: float | Decimal,
    *,
    author: str,
    kind: Kind = Kind.MEASURED,
    status: Status = Status.ACCEPTED,
    interval: Interval | None = None,
) -> None:
    """Describe the figure ``node`` of a metric on ``subject``; ``author`` is whose word it is."""
    graph.describe_part(
        subject,
        "dqv:hasQualityMeasurement",
        node,
        "dqv:QualityMeasurement",
        {
            "dqv:isMeasurementOf": link(graph.places.metric(metric)),
            "dqv:value": decimal(value),
            "dqv:computedOn": link(subject),
            "dcterms:type": graph.term("hub:ModelQuality"),
            "prov:wasAttributedTo": link(author),
            "hub:figureKind": string(kind),
            "hub:figureStatus": string(status),
        },
    )
    if interval is not None:
        graph.state(
            node,
            {
                "hub:intervalLow": decimal(interval.low),
                "hub:intervalHigh": decimal(interval.high),
                "hub:intervalLevel": decimal(interval.level.share),
                "hub:intervalMethod": string(interval.method),
            },
        )
