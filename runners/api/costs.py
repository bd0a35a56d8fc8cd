"""What the graph of a version costs, over HTTP: totals for chosen sizes, functions, nodes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from hub.protocol import problems
from hub.protocol.costs import Costs, Function, Node
from registry.api.operations import VersionView, operation
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import asks
from registry.versions import selectors
from runners.graphs import networks


class NodeCostOutput(Output[Node]):
    """One node in order of execution."""

    columns = Columns(
        "operator",
        "name",
        Column("macs", kind=int | None, help_text="null where unknown"),
        Column("bytes", kind=int | None, help_text="read and written"),
        Column("parameters", help_text="parameters that it is the first to use"),
        Column(
            "exactness",
            help_text="how macs were counted: `exact`; `at-most`, since data select a branch or "
            "end a loop; `per-iteration`, since data tell how often it runs",
        ),
    )


class CostsOutput(Output[Costs]):
    """Costs of one run, computed from the graph."""

    columns = Columns(
        Column("variant", kind=str),
        Column("sizes", kind=dict[str, int], help_text="sizes of the free dimensions"),
        Column("fixed", help_text="free dimensions that keep one size, where there are many"),
        Column(
            "macs",
            kind=int | None,
            help_text="multiply-accumulate operations; null, as bytes and memory are, for sizes of "
            "which the graph has no run",
        ),
        Column("bytes", kind=int | None, help_text="bytes that nodes read and write"),
        Column("weights_bytes", kind=int),
        Column(
            "activations_bytes",
            kind=int | None,
            help_text="at the peak, in order of execution; null where unknown",
        ),
        Column(
            "memory_bytes",
            kind=int | None,
            help_text="weights and activations, without what a runtime adds",
        ),
        Column(
            "exact_for",
            kind=str,
            help_text="`all sizes`, `multiples of N`, or `no size` where the functions are "
            "approximate, or macs is a bound or lacks nodes",
        ),
        Column("macs_function", kind=str, help_text="macs as a function of the free dimensions"),
        Column("unknown", help_text="nodes that macs lacks, by operator"),
        Column("at_most", help_text="nodes whose part of macs is a bound, by operator"),
        Column(
            "per_iteration",
            help_text="loops that macs has once, since data tell how often they run, by operator",
        ),
        Column("nodes", field=NodeCostOutput, many=True),
    )


class GraphCosts(VersionView):
    """The costs of a variant's graph."""

    @asks(
        OpenApiParameter("variant", description="name of the variant (default: the first)"),
        OpenApiParameter(
            "size",
            many=True,
            description="size of a free dimension as `name:size`, such as `sequence:256`; "
            "repeat for several (default: usual sizes)",
        ),
    )
    @operation("costs_read", CostsOutput)
    def read(self) -> dict[str, Any]:
        """Read the multiply-accumulate operations, bytes and memory of a run for given sizes."""
        version, query = self.version, self.request.GET
        variant = selectors.variant(version, query.get("variant") or None, None, None)
        costs = problems.expect(
            networks.costs(networks.of(variant)),
            problems.NotFound(
                f"The costs of {version.ref}:{variant.name} have not been counted. Prepare its "
                "graph on its page."
            ),
        )
        pairs = (pair.rpartition(":") for pair in query.getlist("size"))
        try:
            sizes = costs.sizes({symbol: size for symbol, _, size in pairs})
        except ValueError as error:
            raise problems.InvalidRequest.at("/size", str(error)) from error
        return _content(variant.name, costs, sizes)


def _content(variant: str, costs: Costs, sizes: dict[str, int]) -> dict[str, Any]:
    runs = costs.runs_at(sizes)

    def at(function: Function | None) -> int | None:
        return function.at(sizes) if function and runs else None

    rules = {"everywhere": "all sizes", "multiples": f"multiples of {costs.lattice}"}
    return {
        "variant": variant,
        "sizes": sizes,
        "fixed": costs.fixed,
        "macs": at(costs.macs),
        "bytes": at(costs.bytes),
        "weights_bytes": costs.weights,
        "activations_bytes": costs.activations(sizes) if runs else None,
        "memory_bytes": costs.memory(sizes) if runs else None,
        "exact_for": rules.get(costs.holds, "no size") if costs.is_exact else "no size",
        "macs_function": str(costs.macs),
        "unknown": costs.unknown,
        "at_most": costs.at_most,
        "per_iteration": costs.per_iteration,
        "nodes": [
            {
                "operator": node.operator,
                "name": node.name,
                "macs": at(node.macs),
                "bytes": at(node.bytes),
                "parameters": node.parameters,
                "exactness": node.exactness,
            }
            for node in costs.nodes
        ],
    }
