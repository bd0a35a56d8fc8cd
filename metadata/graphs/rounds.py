"""Rounds of a training as activities: inputs, numbers of participants, and rules.

Participants are counted and never named.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

from metadata.rdf.quads import count, decimal, link, moment, part, string, truth

if TYPE_CHECKING:
    from metadata.graphs.facts import RoundFacts, VersionFacts
    from metadata.rdf.graph import Graph


def describe(graph: Graph, version: str, of: VersionFacts) -> None:
    """Describe the rounds that made a version, each informed by the one before."""
    places = graph.places
    nodes = [f"{version}#round-{row.number}" for row in of.rounds]
    for node, row in zip(nodes, of.rounds, strict=True):
        _round(graph, node, row)
        graph.add(node, "prov:wasAssociatedWith", link(places.agent(of.namespace)))
    for before, node in itertools.pairwise(nodes):
        graph.add(node, "prov:wasInformedBy", link(before))
    if not nodes:
        return
    if of.rounds_from is not None:
        base = places.version(of.namespace, of.name, of.rounds_from)
        graph.add(nodes[0], "prov:used", link(base))
    graph.add(version, "prov:wasGeneratedBy", link(nodes[-1]))
    graph.add(nodes[-1], "hub:differentialPrivacy", truth(of.privacy is not None))
    if of.privacy is not None:
        graph.state(
            nodes[-1],
            {
                "hub:epsilon": decimal(of.privacy.epsilon),
                "hub:epsilonReplaceOne": decimal(of.privacy.epsilon_replace_one),
                "hub:delta": decimal(of.privacy.delta),
                "hub:neighbourRelation": string(of.privacy.neighbours),
            },
        )


def _round(graph: Graph, node: str, row: RoundFacts) -> None:
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
    for reason, contributions in row.left_out.items():
        group = f"{node}-without-{part(reason)}"
        graph.add(node, "hub:leftOut", link(group))
        facts = {"hub:reason": string(reason), "hub:contributions": count(contributions)}
        graph.describe(group, "hub:LeftOut", facts)
