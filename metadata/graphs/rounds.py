"""Rounds of a training as activities: what they used, how many took part, and by which rule.

Participants are counted and never named.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from metadata.rdf import quads
from metadata.rdf.terms import MLS, PROV

if TYPE_CHECKING:
    from metadata.graphs.facts import RoundFacts, VersionFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph


def tell(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    """Tell of the rounds that made a version, each informed by the one before."""
    before = ""
    for index, row in enumerate(of.rounds):
        here = f"{version}#round-{row.number}"
        _round(graph, places, here, version, row)
        if index == 0 and of.rounds_from is not None:
            base = places.version(of.namespace, of.name, of.rounds_from)
            graph.add(here, f"{PROV}used", quads.link(base))
        graph.add(here, f"{PROV}wasInformedBy", *([quads.link(before)] if before else []))
        graph.add(here, f"{PROV}wasAssociatedWith", quads.link(places.agent(of.namespace)))
        before = here
    if before:
        graph.add(version, f"{PROV}wasGeneratedBy", quads.link(before))
        is_private = of.privacy is not None
        graph.add(before, places.term("differentialPrivacy"), quads.truth(is_private))
    if before and of.privacy is not None:
        for name, value in (
            ("epsilon", of.privacy.epsilon),
            ("epsilonReplaceOne", of.privacy.epsilon_replace_one),
            ("delta", of.privacy.delta),
        ):
            graph.add(before, places.term(name), quads.decimal(quads.number(value)))
        graph.add(before, places.term("neighbourRelation"), quads.string(of.privacy.neighbours))


def _round(graph: Graph, places: Places, here: str, version: str, row: RoundFacts) -> None:
    graph.type(here, places.term("FederatedRound"), f"{PROV}Activity", f"{MLS}Run")
    graph.add(here, f"{PROV}wasAssociatedWith", quads.link(places.worker))
    graph.add(here, f"{PROV}startedAtTime", quads.moment(row.opened_at))
    graph.add(here, f"{PROV}endedAtTime", quads.moment(row.ended_at))
    graph.add(here, places.term("roundNumber"), quads.count(row.number))
    graph.add(here, places.term("contributions"), quads.count(row.contributions))
    graph.add(here, places.term("examples"), quads.count(row.examples))
    graph.add(here, places.term("aggregationRule"), quads.string(row.rule))
    noise = quads.decimal(quads.number(row.noise_multiplier))
    graph.add(here, places.term("noiseMultiplier"), noise)
    if row.parameters:
        told = json.dumps(row.parameters, sort_keys=True)
        graph.add(here, places.term("ruleParameters"), quads.string(told))
    for reason, count in row.left_out.items():
        part = f"{version}#round-{row.number}-without-{quads.part(reason)}"
        graph.add(here, places.term("leftOut"), quads.link(part))
        graph.type(part, places.term("LeftOut"))
        graph.add(part, places.term("reason"), quads.string(reason))
        graph.add(part, places.term("contributions"), quads.count(count))
