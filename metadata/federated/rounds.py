"""Rounds of a training as activities: inputs, numbers of participants, and rules.

Participants are counted and never named.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

from hub.protocol.accuracy import stated
from hub.protocol.figures import Figure
from metadata.graphs import figures
from metadata.graphs.version_parts import Describe
from metadata.rdf.graph import Graph
from metadata.rdf.quads import count, decimal, link, moment, part, string, truth
from registry.federated import history, privacy
from registry.federated.history import History, RoundSummary
from registry.federated.scores import GroupScores
from registry.models import Version

# Figures of an evaluation on devices -> their metrics.
_METRICS = {
    "base": "accuracy-before",
    "candidate": "accuracy",
    "change": "accuracy-change",
    "worse": "devices-worse",
}


def part_of(version: Version) -> Describe:
    """What describes the rounds that made a version."""
    rounds, model = history.of(version), version.model

    def describe(graph: Graph, iri: str) -> None:
        if rounds is not None:
            describe_rounds(graph, iri, rounds, model.namespace.slug, model.name)

    return describe


def describe_rounds(graph: Graph, version: str, of: History, namespace: str, name: str) -> None:
    """Describe the rounds that made a version, each informed by the one before."""
    places = graph.places
    nodes = [f"{version}#round-{row.number}" for row in of.rounds]
    for node, row in zip(nodes, of.rounds, strict=True):
        _round(graph, node, row)
        graph.add(node, "prov:wasAssociatedWith", link(places.agent(namespace)))
    for before, node in itertools.pairwise(nodes):
        graph.add(node, "prov:wasInformedBy", link(before))
    graph.add(nodes[0], "prov:used", link(places.version(namespace, name, of.base)))
    graph.add(version, "prov:wasGeneratedBy", link(nodes[-1]))
    graph.add(nodes[-1], "hub:differentialPrivacy", truth(of.privacy.epsilon is not None))
    if of.privacy.epsilon is not None:
        graph.state(
            nodes[-1],
            {
                "hub:epsilon": decimal(of.privacy.epsilon),
                "hub:epsilonReplaceOne": decimal(of.privacy.epsilon_replace_one),
                "hub:delta": decimal(of.privacy.delta),
                "hub:neighbourRelation": string(privacy.NEIGHBOURS),
            },
        )


def _round(graph: Graph, node: str, row: RoundSummary) -> None:
    parameters = json.dumps(row.parameters, sort_keys=True) if row.parameters else ""
    graph.describe(
        node,
        "hub:FederatedRound prov:Activity mls:Run",
        {
            "prov:wasAssociatedWith": link(graph.places.worker),
            "prov:startedAtTime": moment(row.opened_at),
            "prov:endedAtTime": moment(row.ended_at),
            "hub:roundNumber": count(row.number),
            "hub:contributions": count(row.contributions),
            "hub:examples": count(row.examples),
            "hub:aggregationRule": string(row.rule),
            "hub:noiseMultiplier": decimal(row.noise_multiplier),
            "hub:ruleParameters": string(parameters),
        },
    )
    if row.scores is not None:
        _scores(graph, node, f"{node}-devices", row.scores.all)
        for name, scores in row.scores.groups.items():
            _scores(graph, node, f"{node}-devices-{part(name)}", scores)
    for reason, contributions in row.left_out.items():
        group = f"{node}-without-{part(reason)}"
        graph.add(node, "hub:leftOut", link(group))
        facts = {"hub:reason": string(reason), "hub:contributions": count(contributions)}
        graph.describe(group, "hub:LeftOut", facts)


def _scores(graph: Graph, round_node: str, node: str, row: GroupScores) -> None:
    """Describe what devices report together; their word, and of no device by itself."""
    devices = f"{node}-reporters"
    graph.add(round_node, "hub:deviceEvaluation", link(node))
    graph.describe(
        node,
        "hub:DeviceEvaluation",
        {
            "hub:deviceReports": count(row.reports),
            "hub:evaluatedExamples": count(row.examples),
            "prov:wasAttributedTo": link(devices),
        },
    )
    graph.describe(devices, "prov:Agent", {"dcterms:title": string("participants, unnamed", "en")})
    for name, metric in _METRICS.items():
        figure: Figure = getattr(row, name)
        ends = figure.interval
        figures.describe(
            graph,
            f"{node}-{name}",
            node,
            metric,
            stated(figure.value or 0.0),
            author=devices,
            kind=figure.kind,
            status=figure.status,
            interval=ends and replace(ends, low=stated(ends.low), high=stated(ends.high)),
        )
