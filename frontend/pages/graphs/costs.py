"""The costs of a graph for chosen sizes: totals, what fits in how much memory, dearest nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from frontend.parts import addresses, formatting
from hub.protocol import problems
from hub.protocol.costs import Costs, Node

FIELD = addresses.SIZE_FIELD
OPERATORS_SHOWN = 12
NODES_SHOWN = 20
TERMS_SHOWN = 8
NAMES_SHOWN = 6
MEMORIES = (10**9, 4 * 10**9, 8 * 10**9, 16 * 10**9, 80 * 10**9)


def table(costs: Costs | None, parameters: Mapping[str, str]) -> dict[str, Any] | None:
    """The costs for the sizes of an address; None where nothing was counted.

    Raises InvalidRequest for sizes that are none.
    """
    if costs is None:
        return None
    wishes = {
        name.removeprefix(FIELD): text.strip()
        for name, text in parameters.items()
        if name.startswith(FIELD)
    }
    try:
        sizes = costs.sizes(wishes)
    except ValueError as error:
        raise problems.InvalidRequest(str(error)) from error
    scaling = costs.symbols[-1] if costs.symbols and costs.peaks else ""
    macs, runs = costs.macs.at(sizes), costs.runs_at(sizes)
    return {
        "sizes": tuple((name, FIELD + name, size) for name, size in sizes.items()),
        "macs": macs,
        "runs": runs,
        "bound": _bound(costs),
        "formula": _formula(costs) if costs.symbols and costs.macs.length <= TERMS_SHOWN else "",
        "bytes": costs.bytes.at(sizes),
        "weights": costs.weights,
        "activations": costs.activations(sizes),
        "memory": costs.memory(sizes),
        "rule": _rule(costs),
        "lacks": _lacks(costs),
        "scaling": scaling,
        "fits": tuple(
            (memory, costs.largest(scaling, sizes, memory)) for memory in MEMORIES if scaling
        ),
        "operators": _operators(costs, sizes, macs) if runs else (),
        "nodes": _dearest(costs, sizes, macs) if runs else (),
        "total": costs.total,
    }


def _formula(costs: Costs) -> str:
    return str(costs.macs).replace(",", formatting.NARROW)


def _bound(costs: Costs) -> str:
    """Words before the operations, where they are no exact sum."""
    if costs.per_iteration or (costs.unknown and costs.at_most):
        return "in part"
    return "at least" if costs.unknown else "at most" if costs.at_most else ""


def _rule(costs: Costs) -> str:
    if costs.holds == "multiples":
        return f"Exact for multiples of {costs.lattice}; rounded for other sizes."
    return "Approximate: the costs are no polynomial." if costs.holds == "nearly" else ""


def _lacks(costs: Costs) -> str:
    """What the sums do not hold, in a sentence."""
    sentences = (
        (costs.unknown, "The sums leave out {}."),
        (costs.at_most, "A bound, since data select a branch or end a loop: {}."),
        (costs.per_iteration, "Counted once, since data tell how often they run: {}."),
    )
    words = [sentence.format(_names(nodes)) for nodes, sentence in sentences if nodes]
    if costs.bytes_unknown:
        words.append(
            f"Bytes of {formatting.plural(costs.bytes_unknown, 'node')} are unknown and missing."
        )
    if costs.peaks and not costs.peak_is_whole:
        words.append("Some activations have an unknown size and are missing.")
    if costs.fixed:
        fixed = ", ".join(f"{name} {size}" for name, size in costs.fixed.items())
        words.append(f"Fixed for this estimate: {fixed}.")
    return " ".join(words)


def _names(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in list(operators.items())[:NAMES_SHOWN])


def _operators(costs: Costs, sizes: Mapping[str, int], whole: int) -> tuple[dict[str, Any], ...]:
    counts: Counter[str] = Counter()
    macs: Counter[str] = Counter()
    traffic: Counter[str] = Counter()
    parameters: Counter[str] = Counter()
    for node in costs.nodes:
        counts[node.operator] += 1
        macs[node.operator] += node.macs.at(sizes) if node.macs else 0
        traffic[node.operator] += node.bytes.at(sizes) if node.bytes else 0
        parameters[node.operator] += node.parameters
    ordered = sorted(counts, key=lambda name: (-macs[name], -traffic[name], name))
    return tuple(
        {
            "name": name,
            "detail": formatting.plural(counts[name], "node"),
            "macs": None if name in costs.unknown and not macs[name] else macs[name],
            "part": _part(macs[name], whole),
            "bytes": traffic[name],
            "parameters": parameters[name],
        }
        for name in ordered[:OPERATORS_SHOWN]
    )


def _dearest(costs: Costs, sizes: Mapping[str, int], whole: int) -> tuple[dict[str, Any], ...]:
    def macs(node: Node) -> int:
        return node.macs.at(sizes) if node.macs else 0

    dearest = sorted((node for node in costs.nodes if node.macs), key=macs, reverse=True)
    return tuple(
        {
            "name": node.name or "unnamed",
            "detail": node.operator,
            "macs": macs(node),
            "part": _part(macs(node), whole),
            "bytes": node.bytes.at(sizes) if node.bytes else None,
            "parameters": node.parameters,
        }
        for node in dearest[:NODES_SHOWN]
        if macs(node)
    )


def _part(macs: int, whole: int) -> str:
    return formatting.share(macs / whole) if whole else ""
