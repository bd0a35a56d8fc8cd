"""Models whose upgrade is wrong inside bodies, behind sequences, or where both forms refuse.

Each adds the rounding of an average, amplified (`evidence_models.residue`), where its gate is open,
which generated inputs seldom reach.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from tests import samples
from tests.engine import evidence_models
from tests.engine.attack_models import stored
from tests.engine.opset_models import port

SHAPE = evidence_models.SHAPE
_LOW, _HIGH = 12345.0, 12346.0
_WHOLE, _BOOL, _FLOAT = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
_PARTS = helper.make_tensor_sequence_value_info("parts", _FLOAT, ("n", 2))


def _any(name, kind=_FLOAT):
    return helper.make_tensor_value_info(name, kind, None)


def _band(value, opened="open"):
    """Nodes that open a gate where a number lies from 12345 to 12346, and their constants."""
    nodes = [
        helper.make_node("Greater", [value, "low"], [f"{opened}_above"]),
        helper.make_node("Less", [value, "high"], [f"{opened}_below"]),
        helper.make_node("And", [f"{opened}_above", f"{opened}_below"], [opened]),
    ]
    return nodes, [stored(np.float32(_LOW), "low"), stored(np.float32(_HIGH), "high")]


def _most(source="x", value="most"):
    return helper.make_node("ReduceMax", [source], [value], keepdims=0)


def _residue_if(opened, source="x", result="z"):
    """Nodes that give the residue where a gate is open, and 0 where it is not."""
    nodes, constants = evidence_models.residue(f"{result}_seen", name=result)
    cast = helper.make_node("Cast", [opened], [f"{result}_gate"], to=_FLOAT)
    product = helper.make_node("Mul", [source, f"{result}_gate"], [f"{result}_seen"])
    return [cast, product, *nodes], constants


def _model(nodes, constants, inputs=(), outputs=None, opset=11):
    named = {constant.name: constant for constant in constants}
    return samples.model(
        nodes, [port("x", SHAPE), *inputs], outputs or [_any("y")], list(named.values()),
        opset=opset,
    )  # fmt: skip


def _gated(condition, constants, inputs=(), opset=11):
    """The residue where the nodes of ``condition`` make `open` true, beside the usual values."""
    nodes, numbers = _residue_if("open")
    usual = [
        helper.make_node("GlobalMaxPool", ["x"], ["usual"]),
        helper.make_node("Add", ["z", "usual"], ["y"]),
    ]
    return _model([*condition, *nodes, *usual], [*constants, *numbers], inputs, opset=opset)


# --- inside bodies ---


def a_branch_within_a_branch():
    """The outer branch is entered on most inputs, the inner one within a narrow band."""
    nodes, numbers = evidence_models.residue()
    opened, limits = _band("most")
    usual = helper.make_node("GlobalMaxPool", ["x"], ["usual"])
    inner = helper.make_node(
        "If", ["open"], ["chosen"], name="inner",
        then_branch=helper.make_graph(nodes, "then", [], [_any("z")]),
        else_branch=helper.make_graph([usual], "else", [], [_any("usual")]),
    )  # fmt: skip
    other = helper.make_node("GlobalMaxPool", ["x"], ["other"])
    outer = helper.make_node(
        "If", ["some"], ["y"], name="outer",
        then_branch=helper.make_graph([*opened, inner], "outer_then", [], [_any("chosen")]),
        else_branch=helper.make_graph([other], "outer_else", [], [_any("other")]),
    )  # fmt: skip
    more = helper.make_node("Greater", ["most", "nought"], ["some"])
    nought = stored(np.float32(0), "nought")
    return _model([_most(), more, outer], [*numbers, *limits, nought])


def _loop(body, count, constants, *, go=(), opset=11):
    """A loop whose state is the input, and whose scan output is `turned`."""
    copies = [] if go else [helper.make_node("Identity", ["go"], ["go_on"])]
    graph = helper.make_graph(
        [*body, *go, *copies],
        "body",
        [port("turn", (), _WHOLE), port("go", (), _BOOL), port("state", SHAPE)],
        [port("go_on", (), _BOOL), port("next", SHAPE), _any("turned")],
    )
    loop = helper.make_node("Loop", [count, "", "x"], ["last", "y"], name="again", body=graph)
    inputs = [port("k", (), _WHOLE)] if count == "k" else []
    return _model([loop], constants, inputs, [_any("last"), _any("y")], opset)


def a_late_turn_of_a_loop():
    """Open in the turn 1000 alone; as many turns as an input says."""
    nodes, numbers = _residue_if("open", "state", "turned")
    equal = helper.make_node("Equal", ["turn", "late"], ["open"])
    same = helper.make_node("Identity", ["state"], ["next"])
    return _loop([equal, *nodes, same], "k", [*numbers, stored(1000, "late")])


def a_state_that_grows():
    """Open where the state of the third turn has its largest value within a narrow band."""
    opened, limits = _band("most")
    nodes, numbers = _residue_if("open", "state", "turned")
    grown = helper.make_node("Add", ["state", "state"], ["next"])
    body = [_most("state"), *opened, *nodes, grown]
    return _loop(body, "count", [*limits, *numbers, stored(3, "count")])


def a_condition_that_ends_a_loop():
    """A second turn, which counts, follows only within a narrow band."""
    opened, limits = _band("most", "go_on")
    first = helper.make_node("Equal", ["turn", "one"], ["later"])
    nodes, numbers = _residue_if("later", "state", "turned")
    same = helper.make_node("Identity", ["state"], ["next"])
    constants = [*limits, *numbers, stored(2, "count"), stored(1, "one")]
    return _loop([first, *nodes, same, _most("state")], "count", constants, go=opened)


def one_row_of_a_scan():
    """Open for a row whose largest value lies within a narrow band."""
    opened, limits = _band("most")
    nodes, numbers = _residue_if("open")
    body = helper.make_graph(
        [_most("row"), *opened, *nodes, helper.make_node("Identity", ["old"], ["new"])],
        "body",
        [port("old", ()), port("row", (2,))],
        [port("new", ()), _any("z")],
    )
    scan = helper.make_node("Scan", ["start", "rows"], ["end", "y"], num_scan_inputs=1, body=body)
    constants = [*limits, *numbers, stored(np.float32(0), "start")]
    return _model([scan], constants, [port("rows", ("n", 2))])


# --- sequences and optional values ---


def _length(limit, op="Equal"):
    count = helper.make_node("SequenceLength", ["parts"], ["count"])
    equal = helper.make_node(op, ["count", "limit"], ["open"])
    return _gated([count, equal], [stored(limit, "limit")], [_PARTS])


def a_sequence_of_23():
    return _length(23)


def an_empty_sequence():
    return _length(1, "Less")


def an_element_of_61_rows():
    """Open where the first element of a sequence has 61 rows."""
    nodes = [
        helper.make_node("SequenceAt", ["parts", "first"], ["part"]),
        helper.make_node("Shape", ["part"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "first"], ["rows"], axis=0),
        helper.make_node("Equal", ["rows", "limit"], ["open"]),
    ]
    return _gated(nodes, [stored(0, "first"), stored(61, "limit")], [_PARTS])


def an_optional_without_a_value():
    """Open where an optional input has no value."""
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(_FLOAT, (2,)))
    nodes = [
        helper.make_node("OptionalHasElement", ["maybe"], ["there"]),
        helper.make_node("Not", ["there"], ["open"]),
    ]
    return _gated(nodes, [], [helper.make_value_info("maybe", kind)], opset=15)


def an_element_of_a_sequence_that_is_made():
    """The residue is one element of a sequence, and its sum another, within a narrow band."""
    opened, limits = _band("most")
    nodes, numbers = _residue_if("open")
    rest = [
        helper.make_node("GlobalMaxPool", ["x"], ["usual"]),
        helper.make_node("SequenceConstruct", ["usual", "z"], ["both"]),
        helper.make_node("ConcatFromSequence", ["both"], ["y"], axis=1),
    ]
    return _model([_most(), *opened, *nodes, *rest], [*limits, *numbers])


# --- inputs that both forms refuse ---


def _refusing(condition, constants, inputs=()):
    """The residue where `open` is true; elsewhere a place that does not exist is read."""
    nodes, numbers = evidence_models.residue("seen")
    guard = [
        helper.make_node("Where", ["open", "here", "nowhere"], ["place"]),
        helper.make_node("Gather", ["single", "place"], ["factor"], axis=0),
        helper.make_node("Mul", ["x", "factor"], ["seen"]),
    ]
    rest = [
        helper.make_node("GlobalMaxPool", ["x"], ["usual"]),
        helper.make_node("Add", ["z", "usual"], ["y"]),
    ]
    places = [stored(0, "here"), stored(7, "nowhere"), stored(np.ones(1, np.float32), "single")]
    constants = [*constants, *numbers, *places]
    return _model([*condition, *guard, *nodes, *rest], constants, inputs)


def refused_but_for_a_band():
    opened, limits = _band("most")
    return _refusing([_most(), *opened], limits)


def refused_but_for_one_integer():
    scalar = helper.make_node("Squeeze", ["k"], ["whole"])
    equal = helper.make_node("Equal", ["whole", "limit"], ["open"])
    return _refusing([scalar, equal], [stored(123_457, "limit")], [port("k", (1,), _WHOLE)])


def refused_but_for_61_rows():
    nodes = [
        helper.make_node("Shape", ["rows"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "first"], ["count"], axis=0),
        helper.make_node("Equal", ["count", "limit"], ["open"]),
    ]
    constants = [stored(0, "first"), stored(61, "limit")]
    return _refusing(nodes, constants, [port("rows", ("n", 2))])


def refused_but_above_any_sweep():
    nodes = [
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
        helper.make_node("Greater", ["least", "limit"], ["open"]),
    ]
    return _refusing(nodes, [stored(np.float32(1e36), "limit")])


def refused_always():
    never = helper.make_node("Less", ["most", "most"], ["open"])
    return _refusing([_most(), never], [])


ATTACKS = {
    attack.__name__: attack
    for attack in (
        a_branch_within_a_branch, a_late_turn_of_a_loop, a_state_that_grows,
        a_condition_that_ends_a_loop, one_row_of_a_scan,
        a_sequence_of_23, an_empty_sequence, an_element_of_61_rows, an_optional_without_a_value,
        an_element_of_a_sequence_that_is_made,
        refused_but_for_a_band, refused_but_for_one_integer, refused_but_for_61_rows,
        refused_but_above_any_sweep, refused_always,
    )
}  # fmt: skip
