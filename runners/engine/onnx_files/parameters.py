"""The parameters of a model: the stored values that its outputs are computed with.

A stored value counts if it reaches an output of a graph by places that take data. Places that take
settings (`_SETTINGS`) lead nowhere unless the graph's inputs decide their values: shapes, axes,
sizes, bounds, indices, masks, scales and zero points of quantisation, tables of rotary embeddings.
So the same model has the same parameters whether an operator set writes a setting as an attribute,
as an input, or computes it on the way, and thresholds that select an index count. Sources:
Operators.md of ONNX; ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from runners.engine.onnx_files import precision
from runners.engine.onnx_files.vocabulary import DATA_TYPES, OPERATOR_SETS, STANDARD_DOMAINS
from runners.engine.onnx_files.walk import NodeUse, Tensor, Walk

# The graph in which a name is defined, by its number, and the name.
Place = tuple[int, bytes]

_NOT_COUNTED = frozenset({"int64", "uint64", "string", "bool", "unknown"})
_DOMAINS = STANDARD_DOMAINS | OPERATOR_SETS.keys()
_QUANTISED_PAIR = (1, 2, 4, 5, 6, 7)
_QUANTISED_UNARY = (1, 2, 3, 4)
# Operator -> the places of its inputs that are settings; the names mean the same in all domains.
_SETTINGS: dict[str, frozenset[int]] = {
    operator: frozenset(places)
    for operators, places in {
        # Shapes, axes, sizes and positions.
        "Expand Reshape Tile Trilu TopK Unsqueeze Squeeze Split SplitToSequence SequenceAt "
        "SequenceErase ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
        "ReduceMin ReduceProd ReduceSum ReduceSumSquare CumSum CumProd AffineGrid CenterCropPad "
        "ReverseSequence Upsample": (1,),
        "Dropout Col2Im MaxUnpool DFT": (1, 2),
        "Resize": (1, 2, 3),
        "Slice": (1, 2, 3, 4),
        "Pad": (1, 2, 3),
        "STFT": (1, 2, 3),
        "Clip": (1, 2),
        "SequenceInsert RoiAlign": (2,),
        "NonMaxSuppression": (2, 3, 4),
        "ConstantOfShape Range HannWindow HammingWindow BlackmanWindow MelWeightMatrix": range(5),
        # Indices, masks and conditions.
        "Gather GatherElements GatherND Scatter ScatterElements ScatterND Compress "
        "ArrayFeatureExtractor": (1,),
        "OneHot": (1, 2),
        "Where If": (0,),
        "Loop": (0, 1),
        "Pow": (1,),
        "RNN GRU LSTM": (4,),
        "Attention": (3, 4, 6),
        "RotaryEmbedding": (1, 2, 3),
        "MultiHeadAttention": (4,),
        "GroupQueryAttention": (5, 6, 7, 8, 9),
        # Scales and zero points.
        "QuantizeLinear DequantizeLinear": (1, 2),
        "Quant": (1, 2, 3),
        "BipolarQuant": (1,),
        "MatMulInteger ConvInteger": (2, 3),
        "MatMulNBits": (2, 3, 4),
        "MatMulBnb4": (2,),
        "GatherBlockQuantized": (1, 2, 3),
        "DynamicQuantizeMatMul": (2, 3),
        "MatMulIntegerToFloat": (2, 3, 4, 5),
        "DynamicQuantizeLSTM": (4, 8, 9, 10, 11),
        "QLinearConv QLinearMatMul QLinearAdd QLinearMul": _QUANTISED_PAIR,
        "QGemm": (1, 2, 4, 5, 7, 8),
        "QLinearSigmoid QLinearLeakyRelu QLinearSoftmax QLinearAveragePool QLinearReduceMean "
        "QLinearGlobalAveragePool": _QUANTISED_UNARY,
        "QLinearWhere": (0, 2, 3, 5, 6, 7, 8),
        "QAttention": (3, 4, 5, 6, 7),
        "QMoE": (3, 6, 9, 11, 12, 13),
        "QEmbedLayerNormalization": (0, 1, 7, *range(8, 18)),
    }.items()
    for operator in operators.split()
}
# Operators that read the shape of their input alone.
_READ_NO_VALUE = frozenset({"EyeLike", "RandomNormalLike", "RandomUniformLike", "Shape", "Size"})
# Outputs of operators that are scales, so that a product with one is a scale, too.
_SCALES = {"DynamicQuantizeLinear": 1}


class Count(NamedTuple):
    """Elements of the values that a model stores: those that are parameters, and all others."""

    parameters: int
    constants: int


def count(state: Walk) -> Count:
    """Count the stored values, those in attributes such as thresholds of trees too.

    Each is counted in the scope it stands in: a function once, however often it is called, and
    equal weights under two names twice. Packed ones count as the values they stand for.
    """
    weights = counts(state)
    others = (each.elements for at, each in state.weights.items() if at not in weights)
    return Count(sum(weights.values()) + state.attribute_weights.total(), sum(others))


def counts(state: Walk) -> dict[Place, int]:
    """The parameters in each stored tensor that has some, by its graph's number and its name."""
    used = _reaching(state) if state.weights else set()
    packed = precision.unpacked(state)
    return {
        place: packed.get(id(tensor), tensor.elements)
        for place, tensor in state.weights.items()
        if place in used and _may_count(tensor)
    }


def _may_count(tensor: Tensor) -> bool:
    """Whether a tensor may hold parameters.

    Whole numbers of 64 bits, truth values and text do not, nor do single numbers without a
    dimension, such as the epsilon of a normalisation.
    """
    kind = DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0]
    return kind not in _NOT_COUNTED and bool(tensor.dimensions)


def _reaching(state: Walk) -> set[Place]:
    """The values that outputs of the graph or of a function are computed with, as data."""
    names = _Names(state)
    varying = _varying(state, names)
    scales = {
        (node.sees[0], node.outputs[_SCALES[node.operator]])
        for node in state.flow
        if len(node.outputs) > _SCALES.get(node.operator, len(node.outputs))
    }
    # A body is reached by its node; what no node holds is the graph or a function.
    held = {sees for node in state.flow for sees in node.bodies}
    waiting = [
        place
        for sees, outputs in state.outputs.items()
        if sees not in held
        for place in names.places(sees, outputs)
    ]
    reached: set[Place] = set()
    visited: set[int] = set()
    while waiting:
        place = waiting.pop()
        reached.add(place)
        node = names.makers.get(place)
        if node is None or id(node) in visited:
            continue
        visited.add(id(node))
        settings = {*names.places(node.sees, _settings(node))} - varying
        data = [at for at in names.read(node) if at not in settings]
        others = [at for at in data if at not in scales]
        if node.operator == "Mul" and len(others) < len(data) and state.weights.keys() >= {*others}:
            continue  # a scale of inputs times one of weights
        waiting += data
    return reached


def _varying(state: Walk, names: _Names) -> set[Place]:
    """The values that the inputs of the graph decide, not only by their shapes."""
    users: dict[Place, list[NodeUse]] = defaultdict(list)
    for node in state.flow:
        for place in names.read(node):
            users[place].append(node)
    waiting = [place for place in state.ports if place not in state.weights]
    varying: set[Place] = set()
    while waiting:
        place = waiting.pop()
        if place not in varying:
            varying.add(place)
            waiting += [
                (node.sees[0], name) for node in users[place] for name in node.outputs if name
            ]
    return varying


class _Names:
    """Where the names that nodes use are defined."""

    def __init__(self, state: Walk) -> None:
        self._outputs = state.outputs
        self.makers = {
            (node.sees[0], name): node for node in state.flow for name in node.outputs if name
        }
        self._defined = self.makers.keys() | state.weights.keys() | state.ports

    def places(self, sees: tuple[int, ...], names: Iterable[bytes]) -> list[Place]:
        """The graphs that define these names, from the innermost one outwards."""
        visible = (
            next((place for number in sees if (place := (number, name)) in self._defined), None)
            for name in names
        )
        return [place for place in visible if place is not None]

    def read(self, node: NodeUse) -> list[Place]:
        """What the outputs of a node are computed from, outputs of its bodies included."""
        if node.operator in _READ_NO_VALUE and node.domain in _DOMAINS:
            return []
        read = self.places(node.sees, node.inputs)
        for sees in node.bodies:
            read += self.places(sees, self._outputs[sees])
        return read


def _settings(node: NodeUse) -> list[bytes]:
    """The inputs of a node that are settings."""
    if node.domain not in _DOMAINS:
        return []
    if node.operator == "QLinearConcat":
        # The output's scale and zero point, then a value, its scale and zero point for each input.
        return [name for place, name in enumerate(node.inputs) if place < 2 or (place - 2) % 3]
    settings = _SETTINGS.get(node.operator, frozenset())
    return [name for place, name in enumerate(node.inputs) if place in settings]
