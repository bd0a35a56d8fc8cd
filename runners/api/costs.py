"""What the graph of a version costs, over HTTP: totals for chosen sizes, functions, nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from hub.protocol import problems
from registry.api.operations import VersionView, operation
from registry.api.parameters import asks
from registry.versions import selectors
from runners.graphs import networks

if TYPE_CHECKING:
    from hub.protocol.costs import Costs, Function


class NodeCostOutput(serializers.Serializer[Any]):
    """One node in order of execution."""

    operator = serializers.CharField()
    name = serializers.CharField()
    macs = serializers.IntegerField(allow_null=True, help_text="null where unknown")
    bytes = serializers.IntegerField(allow_null=True, help_text="read and written")
    parameters = serializers.IntegerField(help_text="elements of weights first used by it")


class CostsOutput(serializers.Serializer[Any]):
    """Costs of one run, computed from the graph."""

    variant = serializers.CharField()
    sizes = serializers.DictField(
        child=serializers.IntegerField(), help_text="sizes of the free dimensions"
    )
    fixed = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="free dimensions that keep one size, where there are many",
    )
    macs = serializers.IntegerField(help_text="multiply-accumulate operations")
    bytes = serializers.IntegerField(help_text="bytes that nodes read and write")
    weights_bytes = serializers.IntegerField()
    activations_bytes = serializers.IntegerField(
        allow_null=True, help_text="at the peak, in order of execution; null where unknown"
    )
    memory_bytes = serializers.IntegerField(
        allow_null=True, help_text="weights and activations, without what a runtime adds"
    )
    exact_for = serializers.CharField(
        help_text="`all sizes`, `multiples of N`, or `no size` where the functions are approximate"
    )
    macs_function = serializers.CharField(help_text="macs as a function of the free dimensions")
    unknown = serializers.DictField(
        child=serializers.IntegerField(), help_text="nodes that macs lacks, by operator"
    )
    nodes = NodeCostOutput(many=True)


class CostsDetail(VersionView):
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
    def get(self) -> dict[str, Any]:
        """Read the multiply-accumulate operations, bytes and memory of a run for given sizes."""
        version, query = self.version, self.request.GET
        variant = selectors.variant(version, query.get("variant") or None, None, None)
        costs = networks.costs(networks.of(version, variant))
        if costs is None:
            raise problems.NotFound(
                f"The costs of {version.ref}:{variant.name} have not been counted. Prepare its "
                "graph on its page."
            )
        pairs = (pair.rpartition(":") for pair in query.getlist("size"))
        try:
            sizes = costs.sizes({symbol: size for symbol, _, size in pairs})
        except ValueError as error:
            raise problems.InvalidRequest.at("/size", str(error)) from error
        return _content(variant.name, costs, sizes)


def _content(variant: str, costs: Costs, sizes: dict[str, int]) -> dict[str, Any]:
    def at(function: Function | None) -> int | None:
        return None if function is None else function.at(sizes)

    rules = {"everywhere": "all sizes", "multiples": f"multiples of {costs.lattice}"}
    return {
        "variant": variant,
        "sizes": sizes,
        "fixed": costs.fixed,
        "macs": costs.macs.at(sizes),
        "bytes": costs.bytes.at(sizes),
        "weights_bytes": costs.weights,
        "activations_bytes": costs.activations(sizes),
        "memory_bytes": costs.memory(sizes),
        "exact_for": rules.get(costs.holds, "no size"),
        "macs_function": str(costs.macs),
        "unknown": costs.unknown,
        "nodes": [
            {
                "operator": node.operator,
                "name": node.name,
                "macs": at(node.macs),
                "bytes": at(node.bytes),
                "parameters": node.parameters,
            }
            for node in costs.nodes
        ],
    }
