"""Features that predict the latency of a graph: its work, by kind of operator.

A run on a CPU takes about as long as the sum of its operators. Each kind contributes its
multiplications or its bytes moved, whichever is slower, plus a constant for each node (roofline:
Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785; by operator: Paleo, Qi, Sparks
and Talwalkar 2017; nn-Meter, Zhang et al. 2021, doi:10.1145/3458864.3467882).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.protocol import stored
from hub.protocol.costs import Costs, Function
from hub.protocol.facts import Port

CONVOLUTION, MATRIX, RECURRENT, WINDOW, FUNCTION, LAYOUT, OTHER = (
    "convolution",
    "matrix",
    "recurrent",
    "window",
    "function",
    "layout",
    "other",
)
# Operator without its domain -> its kind; all others are OTHER, most of them elementwise.
_KINDS: Final = {
    name: kind
    for kind, names in {
        CONVOLUTION: "Conv ConvTranspose ConvInteger QLinearConv DeformConv FusedConv",
        MATRIX: "Gemm MatMul MatMulInteger QLinearMatMul Einsum FusedMatMul FusedGemm QGemm "
        "MatMulNBits DynamicQuantizeMatMul Attention MultiHeadAttention GroupQueryAttention",
        RECURRENT: "LSTM GRU RNN",
        WINDOW: "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool Resize Upsample",
        # Powers, exponentials and roots of each element.
        FUNCTION: "LRN Exp Log Erf Pow Sqrt Tanh Sigmoid Gelu FastGelu BiasGelu Softmax LogSoftmax "
        "Softplus Elu Selu Mish Sin Cos",
        LAYOUT: "Transpose Concat Slice Gather Reshape Pad Split Squeeze Unsqueeze Flatten Shape "
        "Expand Tile Cast ConstantOfShape",
    }.items()
    for name in names.split()
}
# Operators that a runtime removes or computes ahead of the runs.
_FREE: Final = frozenset({"Constant", "Identity", "Dropout"})
# Operators that run other nodes, which the costs do not list.
_CONTAINERS: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
# Columns: the amount of work of each kind, and the number of its nodes.
COLUMNS: Final = (
    (CONVOLUTION, "macs"),
    (CONVOLUTION, "bytes"),
    (MATRIX, "macs"),
    (MATRIX, "bytes"),
    (RECURRENT, "macs"),
    (WINDOW, "bytes"),
    (FUNCTION, "bytes"),
    (LAYOUT, "bytes"),
    (OTHER, "bytes"),
    ("every", "nodes"),
    ("every", "runs"),
)
MOST: Final = 10**18
# The sizes that runners.engine.benchmark.feeds uses for unnamed dimensions.
_PICTURE_SIDE, _TEXT = 224, 128
_CHANNELS = frozenset({1, 3, 4})


@dataclass(frozen=True, slots=True)
class Features:
    """The columns of one graph at concrete sizes, and the operators that it runs."""

    columns: tuple[float, ...]
    operators: frozenset[str]

    @classmethod
    def read(cls, columns: object, operators: object) -> Features | None:
        """Read stored features; None for another shape, such as that of an older release."""
        if not isinstance(columns, list) or len(columns) != len(COLUMNS):
            return None
        amounts = [
            amount for amount in map(stored.finite, columns) if amount is not None and amount >= 0
        ]
        if len(amounts) != len(columns):
            return None
        names = operators if isinstance(operators, list) else []
        return cls(tuple(amounts), frozenset(map(stored.text, names)))


def of(costs: Costs, sizes: Mapping[str, int]) -> Features | None:
    """The features of a graph at these sizes; None if the cost of a node is unknown.

    An amount beyond ``MOST`` counts as unknown, since it comes from an upload.
    """
    if costs.unknown or len(costs.nodes) != costs.total:
        return None
    sums = dict.fromkeys(COLUMNS, 0.0)
    operators = set()
    for node in costs.nodes:
        if node.operator in _FREE:
            continue
        macs, traffic = _amount(node.macs, sizes), _amount(node.bytes, sizes)
        if macs is None or traffic is None or node.operator in _CONTAINERS:
            return None
        operators.add(node.operator)
        kind = _KINDS.get(node.operator.rpartition(".")[2], OTHER)
        for column, amount in (((kind, "macs"), macs), ((kind, "bytes"), traffic)):
            if column in sums:
                sums[column] += amount
        sums["every", "nodes"] += 1
    sums["every", "runs"] = 1.0
    return Features(tuple(sums[column] for column in COLUMNS), frozenset(operators))


def _amount(function: Function | None, sizes: Mapping[str, int]) -> int | None:
    try:
        amount = None if function is None else function.at(sizes)
    except (OverflowError, ValueError):  # infinite, or no number
        return None
    return amount if amount is not None and 0 <= amount <= MOST else None


def measured_sizes(costs: Costs, ports: Sequence[Port], inputs: object) -> dict[str, int]:
    """The sizes of a benchmark's inputs, from its record's `config.inputs`."""
    shapes = {
        stored.text(row.get("name")): stored.wholes(row.get("shape")) for row in stored.rows(inputs)
    }
    sizes = costs.usual_sizes
    for port in ports:
        # A shape with anything but numbers fits no port.
        for name, size in zip(_dims(port), shapes.get(port.name, ()), strict=False):
            if isinstance(name, str) and name in sizes:
                sizes[name] = size
    return sizes


def default_sizes(costs: Costs, ports: Sequence[Port]) -> dict[str, int]:
    """The sizes that a benchmark uses for dimensions without a chosen size."""
    sizes = costs.usual_sizes
    batches = {dims[0] for port in ports if len(dims := _dims(port)) > 1}
    for port in ports:
        dims = _dims(port)
        picture = (2, 3) if dims[1:2] and dims[1] in _CHANNELS else (1, 2)
        is_picture = len(dims) == 4 and (dims[1] in _CHANNELS or dims[3] in _CHANNELS)
        for place, name in enumerate(dims):
            if isinstance(name, str) and name in sizes:
                if name in batches:
                    sizes[name] = 1
                else:
                    sizes[name] = _PICTURE_SIDE if is_picture and place in picture else _TEXT
    return sizes


def _dims(port: Port) -> tuple[int | str | None, ...]:
    return port.type.shape or ()
