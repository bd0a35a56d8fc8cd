"""Which tensors of a model are trained, which are statistics, and which must not move.

A name, a type and a shape prove nothing: an exporter that folds a batch normalisation into a
convolution keeps all three and changes what the tensor means. Such models are refused here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hub.protocol.federated import FROZEN, ROLES, STATISTIC
from runners.engine.onnx_files import bodies, text
from runners.engine.reports import Finding

if TYPE_CHECKING:
    import onnx

_NORMALISING = "BatchNormalization"
_STATISTICS = {3: "running mean", 4: "running variance"}
_VARIANCE = 4
# Inputs that hold settings of an operator, never what it has learnt.
_SETTINGS = {
    "Clip": frozenset({1, 2}),
    "Div": frozenset({1}),
    "Dropout": frozenset({1, 2}),
    "OneHot": frozenset({2}),
    "Pad": frozenset({2}),
    "Pow": frozenset({1}),
    "Resize": frozenset({1, 2}),
    "Sub": frozenset({1}),
    "Upsample": frozenset({1}),
}
_QUANTISED = re.compile(r"(?:Q|Deq|DynamicQ)uantize\w*|QLinear\w+|QGemm|QAttention|\w+Integer\w*")
_RENAMED = re.compile(r"onnx::\w+_\d+")
_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
_FOLDED = re.compile(r"FuseBatchNorm|batch_norm|modules\.batchnorm")
_LONGEST = 100


@dataclass(slots=True)
class Uses:
    """Where top-level values are read: (operator, input place), and whether in a body."""

    places: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))

    def is_only_setting(self, name: str) -> bool:
        """Whether nothing learns here: every reader takes it for a setting, or only its shape."""
        return all(
            place in _SETTINGS.get(operator, ()) or operator == "Shape"
            for operator, place in self.places[name]
        )

    def statistic(self, name: str) -> set[int]:
        """At which places of batch normalisations it is the mean or the variance."""
        return {
            place
            for operator, place in self.places[name]
            if operator == _NORMALISING and place in _STATISTICS
        }


def uses_of(model: onnx.ModelProto) -> Uses:
    """Find the readers of every name, in bodies of control flow as well."""
    uses = Uses()
    for node in bodies.nodes_of(model.graph):
        for place, name in enumerate(node.input):
            if name:
                uses.places[name].append((node.op_type, place))
    return uses


def role_of(
    tensor: onnx.TensorProto,
    uses: Uses,
    patterns_by_role: Mapping[str, Iterable[str]],
    *,
    is_float: bool,
) -> str:
    """Give a tensor's role: what the maintainer asked for, or what its readers say.

    Of several that fit, trainable goes before statistic, and that before frozen, so that a few can
    be left out of what is frozen. What a batch normalisation counts is never trained.
    """
    if not is_float:
        return FROZEN
    allowed = (STATISTIC, FROZEN) if uses.statistic(tensor.name) else ROLES
    for role in allowed:
        if any(fnmatchcase(tensor.name, pattern) for pattern in patterns_by_role.get(role, ())):
            return role
    if not tensor.dims or uses.is_only_setting(tensor.name):
        return FROZEN
    return allowed[0]


def unmatched(
    model: onnx.ModelProto, roles: Mapping[str, str], patterns_by_role: Mapping[str, Iterable[str]]
) -> list[Finding]:
    """Say which patterns gave no tensor their role, since a wrong one would go unnoticed."""
    names = [tensor.name for tensor in model.graph.initializer]
    some_names = ", ".join(_quoted(name) for name in names[:3])
    examples = f" The model's tensors have names such as {some_names}." if some_names else " "
    return [
        refuse(
            "training-role-unmatched",
            f"The pattern {_quoted(pattern)} makes no tensor {role}: it fits none, or only such "
            "as cannot be that (integers are not trained, and what a batch normalisation counts "
            f"is statistic or frozen), or another pattern goes before it.{examples}",
            pattern,
        )
        for role, patterns in patterns_by_role.items()
        for pattern in patterns
        if not any(roles[name] == role and fnmatchcase(name, pattern) for name in names)
    ]


def is_variance(name: str, uses: Uses) -> bool:
    """Whether values below zero would break the model."""
    return _VARIANCE in uses.statistic(name)


def refusals(model: onnx.ModelProto, roles: Mapping[str, str], uses: Uses) -> list[Finding]:
    """Say why what a device trains would not be what the model computes."""
    moving = {name for name, role in roles.items() if role != FROZEN}
    return [
        *_folded(model),
        *_odd_statistics(model, uses),
        *_aliases(model, moving),
        *_renamed(moving),
        *_quantised(model),
    ]


def _folded(model: onnx.ModelProto) -> Iterator[Finding]:
    for node in bodies.nodes_of(model.graph):
        if node.op_type in _LINEAR and any(
            _FOLDED.search(entry.value) for entry in node.metadata_props
        ):
            yield refuse(
                "training-folded",
                f"A batch normalisation was folded into {_named(node)}: its weights are not those "
                "of the layer that bears their name. Export again with "
                "torch.onnx.export(..., dynamo=True, optimize=False).",
                node.name,
            )
            return


def _odd_statistics(model: onnx.ModelProto, uses: Uses) -> Iterator[Finding]:
    own = {tensor.name for tensor in model.graph.initializer}
    copied = {
        node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Identity"
    }
    for node in bodies.nodes_of(model.graph):
        if node.op_type != _NORMALISING:
            continue
        for place, what in _STATISTICS.items():
            name = node.input[place] if len(node.input) > place else ""
            if name not in own:
                yield refuse(
                    "training-statistics-aliased",
                    f"The {what} of {_named(node)} is not a tensor of its own but comes from "
                    f"{_quoted(copied.get(name, name))}: trained, it would follow that. {_KEEP}",
                    name,
                )
            elif len(uses.places[name]) > 1:
                yield refuse(
                    "training-statistics-aliased",
                    f"The {what} of {_named(node)}, {_quoted(name)}, is read elsewhere too, so "
                    f"one tensor would have to be two. {_KEEP}",
                    name,
                )


def _aliases(model: onnx.ModelProto, moving: set[str]) -> Iterator[Finding]:
    read = {
        name
        for node in bodies.nodes_of(model.graph)
        if node.op_type == _NORMALISING
        for name in node.input[3:5]
    }
    for node in bodies.nodes_of(model.graph):
        # An Identity before a statistic has been told of already.
        if (
            node.op_type == "Identity"
            and node.input[0] in moving
            and not read.intersection(node.output)
        ):
            yield refuse(
                "training-weights-aliased",
                f"{_quoted(node.output[0])} is a copy of {_quoted(node.input[0])} because both had "
                f"equal values when the model was exported; trained, they would differ. {_KEEP}",
                node.input[0],
            )


def _renamed(moving: set[str]) -> Iterator[Finding]:
    names = sorted(name for name in moving if _RENAMED.fullmatch(name))
    if names:
        yield refuse(
            "training-weights-renamed",
            "The exporter folded or transposed weights and renamed them, such as "
            f"{_quoted(names[0])} ({len(names):,} of them): no layer has such a name. {_KEEP}",
            names[0],
        )


def _quantised(model: onnx.ModelProto) -> Iterator[Finding]:
    for node in bodies.nodes_of(model.graph):
        if _QUANTISED.fullmatch(node.op_type):
            yield refuse(
                "training-quantised",
                f"The model is quantised ({node.op_type}), and integers are not trained. Open the "
                "training on the float32 model and derive the quantised variant of each version.",
                node.name,
            )
            return


_KEEP = (
    "Export again with torch.onnx.export(..., dynamo=True, optimize=False), or with "
    "training=TrainingMode.PRESERVE and do_constant_folding=False."
)


def refuse(code: str, message: str, where: str) -> Finding:
    """Give the finding that forbids a training."""
    return Finding(code, "error", text.message(message), text.clip(where, _LONGEST))


def _named(node: onnx.NodeProto) -> str:
    kind = f"{node.op_type} node"
    return f"the {kind} {_quoted(node.name)}" if node.name else f"a {kind}"


def _quoted(name: str) -> str:
    return repr(text.clip(name, _LONGEST))
