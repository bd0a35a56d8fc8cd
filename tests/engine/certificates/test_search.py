"""The search for differences of single nodes: what a key is, what is searched, what is noticed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.protocol.node_certificates import EQUAL, SearchOutcome
from hub.protocol.vocabularies import REFERENCE
from runners.engine.certificates import certificate as certificates
from runners.engine.certificates import domains, keys, search
from runners.engine.certificates.certificate import EMPTY, FEW_SIZES, Certificate, ranges
from runners.engine.certificates.conversion import converted
from runners.engine.certificates.domains import ValueKind
from runners.engine.opsets.rules.rule import RULES, rule
from tests import samples
from tests.engine.opset_models import floats, old, port

X = floats(2, 3, 4)


def only_key(model, source, target=26):
    [(key, _)] = keys.keys_of(model, source, target)
    return key


@pytest.fixture
def faulty_rule(request, monkeypatch):
    """A rule for Softplus, whose definition has not changed since opset 1 but for its types."""
    monkeypatch.setitem(RULES, "Softplus", [])

    @rule("faulty", "Softplus", source=21, target=22)
    def rewrite(case):
        request.param(case)


def for_many_columns(case):
    """Swap two axes where one of them has more than 16 columns, so that small inputs agree."""
    size = case.add("Shape", [case.input(0)], start=1, end=2)
    many = case.add("Greater", [size, case.value([16])])
    shift = case.add("Cast", [many], to=TensorProto.FLOAT)
    case.add("Add", [case.add("Softplus", [case.input(0)]), shift], case.output(0))


def for_large_values(case):
    large = case.add("Greater", [case.input(0), case.value(15.5, TensorProto.FLOAT)])
    shift = case.add("Cast", [large], to=TensorProto.FLOAT)
    case.add("Add", [case.add("Softplus", [case.input(0)]), shift], case.output(0))


def for_not_a_number(case):
    same = case.add("Softplus", [case.input(0)])
    zero = case.value(0, TensorProto.FLOAT)
    case.add("Where", [case.add("IsNaN", [same]), zero, same], case.output(0))


def for_enormous_values(case):
    size = case.add("Abs", [case.input(0)])
    enormous = case.add("Greater", [size, case.value(1e36, TensorProto.FLOAT)])
    same = case.add("Softplus", [case.input(0)])
    case.add("Where", [enormous, case.value(1, TensorProto.FLOAT), same], case.output(0))


def as_is(case):
    case.again()


def softplus():
    node = helper.make_node("Softplus", ["x"], ["y"])
    return samples.model([node], [port("x", (2, 3))], [port("y", (2, 3))], opset=21)


@pytest.mark.parametrize("faulty_rule", [as_is], indirect=True)
@pytest.mark.usefixtures("faulty_rule")
def test_a_conversion_without_a_fault_is_certified_with_what_was_searched():
    certificate = search.search(only_key(softplus(), 21))
    assert certificate.outcome == SearchOutcome.CERTIFIED, certificate.reason
    assert certificate.counterexample is None
    assert certificate.is_complete
    assert set(certificate.kinds) == set(ValueKind)
    assert certificate.is_exact
    assert all(sizes.startswith("0-40 ") for sizes in certificate.sizes.values())
    assert all(sizes.endswith(" 257") for sizes in certificate.sizes.values())
    assert Certificate.from_json(json.loads(json.dumps(certificate.to_json()))) == certificate


@pytest.mark.parametrize("faulty_rule", [for_many_columns], indirect=True)
@pytest.mark.usefixtures("faulty_rule")
def test_a_fault_beyond_a_size_is_noticed_at_a_size():
    certificate = search.search(only_key(softplus(), 21))
    assert certificate.outcome == SearchOutcome.DIFFERENT
    columns = certificate.counterexample.sizes["1"]
    assert 16 < columns <= 31


@pytest.mark.parametrize("faulty_rule", [for_large_values], indirect=True)
@pytest.mark.usefixtures("faulty_rule")
def test_a_fault_beyond_a_value_is_noticed():
    certificate = search.search(only_key(softplus(), 21))
    assert certificate.outcome == SearchOutcome.DIFFERENT
    assert certificate.counterexample.values == ValueKind.POWERS


@pytest.mark.parametrize("faulty_rule", [for_not_a_number], indirect=True)
@pytest.mark.usefixtures("faulty_rule")
def test_a_fault_of_special_values_alone_is_a_limit():
    certificate = search.search(only_key(softplus(), 21))
    assert certificate.outcome == SearchOutcome.LIMITED
    assert set(certificate.limits) == {ValueKind.SPECIAL}


def test_a_size_that_a_constant_fixes_is_searched_at_that_size():
    """Both forms split four columns, and refuse every other number."""
    certificate = search.search(only_key(old("Split", 11, {"x": X}, axis=2, split=[4]), 11))
    assert certificate.outcome == SearchOutcome.CERTIFIED
    assert certificate.sizes["2"] == "4"
    assert certificate.refused > search.LEAST_REFUSED_SIZES


def test_sizes_that_must_meet_a_product_are_searched_together():
    shape = np.array([-1, 15, 2], np.int64)
    model = old("Reshape", 12, {"x": floats(6, 5), "s": shape}, constants={"s": shape})
    certificate = search.search(only_key(model, 12))
    assert certificate.outcome == SearchOutcome.CERTIFIED, certificate.reason
    assert all(len(sizes.split()) >= 3 for sizes in certificate.sizes.values())


def test_sums_in_another_order_are_certified_up_to_rounding():
    """From opset 19 on, ONNX Runtime sums averages in another order."""
    key = only_key(old("AveragePool", 10, {"x": floats(1, 3, 9, 9)}, kernel_shape=[7, 7]), 10)
    certificate = search.search(key)
    assert certificate.outcome == SearchOutcome.CERTIFIED
    assert not certificate.is_exact


def test_values_whose_sums_overflow_bound_a_certificate():
    """Both forms of AveragePool overflow above the bound, at other values."""
    key = only_key(old("AveragePool", 10, {"x": floats(1, 3, 9, 9)}, kernel_shape=[7, 7]), 10)
    certificate = search.search(key)
    assert certificate.outcome == SearchOutcome.CERTIFIED
    assert 0 < certificate.largest < np.finfo(np.float32).max
    assert ValueKind.RANGE in certificate.limits
    assert certificate.uncovered([{}], 1.0) == ""
    assert "only for values up to" in certificate.uncovered([{}], 1e36)


@pytest.mark.parametrize("faulty_rule", [for_enormous_values], indirect=True)
@pytest.mark.usefixtures("faulty_rule")
def test_a_difference_on_large_values_that_is_no_overflow_is_a_limit(monkeypatch):
    monkeypatch.setattr(search, "CONTINUOUS", {"Softplus"})
    certificate = search.search(only_key(softplus(), 21))
    assert certificate.outcome == SearchOutcome.LIMITED
    assert ValueKind.RANGE in certificate.limits


def test_what_a_model_needs_beyond_the_domain_is_named():
    certificate = Certificate(
        "", "Softmax", 9, 26, SearchOutcome.LIMITED, sizes={"0": "4", "1": "0-40 47"},
        limits={EMPTY: "refused", FEW_SIZES: "size 0 was only 4"}, largest=1e6,
    )  # fmt: skip
    assert certificate.uncovered([{0: 4}, {0: 4, 1: 9}], 1e5) == ""
    assert certificate.uncovered([{0: 4}, {0: 5}], 1e5) == "size 0 was only 4"
    assert certificate.uncovered([{}], 1e5) == "size 0 was only 4"
    assert certificate.uncovered([{0: 4, 1: 0}], 1e5) == "not for empty inputs"
    assert certificate.uncovered([{0: 4}], 1e7) == "only for values up to 1e+06"
    assert certificate.uncovered([{0: 4}], None) == "only for values up to 1e+06"
    assert replace(certificate, largest=0.0).uncovered([{0: 4}], 0.0) == (
        "not for the whole range of integers"
    )


def test_a_fault_of_large_integers_alone_covers_no_model():
    """A model of integers has no floating value that could exceed a bound."""
    key = only_key(old("ReduceSum", 11, {"x": X.astype(np.int64)}, axes=[1]), 11)
    assert search._largest(key, {ValueKind.RANGE: "o0 differs"}) == 0
    assert search._largest(key, {EMPTY: "refused"}) is None


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([], ""), ([3], "3"), ([2, 1, 0, 5], "0-2 5"), ([1, 3, 4, 9], "1 3-4 9")],
)
def test_sizes_are_written_as_ranges(numbers, words):
    assert ranges(numbers) == words
    assert certificates.numbers(words) == set(numbers)


def test_a_node_that_cannot_be_converted_says_why():
    text = TensorProto.STRING
    node = helper.make_node("StringConcat", ["x", "x"], ["y"])
    model = samples.model([node], [port("x", (2,), text)], [port("y", (2,), text)], opset=20)
    certificate = search.search(only_key(model, 20, 17))
    assert certificate.outcome == SearchOutcome.NOT_CONVERTED
    assert certificate.reason


def test_a_node_that_the_runtime_does_not_run_says_why():
    """Softmax of opset 12 has no such type, and the reference follows a later definition."""
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    ports = [samples.value(name, TensorProto.BFLOAT16, (2, 3, 4)) for name in ("x", "y")]
    model = samples.model([node], ports[:1], ports[1:], opset=12)
    certificate = search.search(only_key(model, 12))
    assert certificate.outcome == SearchOutcome.NOT_RUN
    assert "bfloat16" in certificate.reason


@pytest.mark.parametrize(
    ("op", "feeds", "attributes"),
    [
        ("Add", {"x": floats(2, 3, 4), "s": floats(3)}, {"broadcast": 1, "axis": 1}),
        ("Gemm", {"x": floats(2, 3), "s": floats(3, 4), "c": floats(4)}, {"broadcast": 1}),
    ],
)
def test_a_node_without_a_kernel_is_run_by_the_reference(op, feeds, attributes):
    certificate = search.search(only_key(old(op, 6, feeds, **attributes), 6))
    assert certificate.outcome == SearchOutcome.CERTIFIED, certificate
    assert certificate.runtime == REFERENCE


def test_empty_inputs_keep_their_shape_behind_a_flattened_softmax():
    certificate = search.search(only_key(old("Softmax", 9, {"x": X}, axis=1), 9))
    assert certificate.outcome == SearchOutcome.CERTIFIED, certificate
    assert all(sizes.startswith("0-40 ") for sizes in certificate.sizes.values())


def test_inputs_of_open_rank_have_the_axis_of_the_node():
    node = helper.make_node("Softmax", ["x"], ["y"], axis=2)
    model = samples.model([node], [port("x", None)], [port("y", None)], opset=9)
    key = only_key(model, 9)
    assert {plan.rank for plan in domains.plans(key)} == {3, 4}
    assert search.search(key).limits == {}


def test_an_input_that_a_model_fixes_to_be_empty_stays_empty():
    """Resize of opset 11 has empty scales where it is given sizes."""
    feeds = {
        "x": floats(1, 2, 5, 6),
        "r": np.zeros(0, np.float32),
        "e": np.zeros(0, np.float32),
        "s": np.array([1, 2, 7, 9], np.int64),
    }
    model = old("Resize", 11, feeds, mode="nearest", nearest_mode="floor")
    certificate = search.search(only_key(model, 11))
    assert certificate.outcome in EQUAL, certificate
    assert certificate.runs > search.LEAST_RUNS


def test_a_scale_for_each_group_has_as_many_elements_as_there_are_groups():
    feeds = {"x": floats(2, 4, 3), "s": floats(2), "b": floats(2)}
    model = old("GroupNormalization", 18, feeds, num_groups=2)
    assert domains.implied_sizes(only_key(model, 18)) == {0: 2}
    certificate = search.search(only_key(model, 18))
    assert certificate.outcome in EQUAL, certificate


@pytest.mark.parametrize(
    ("op", "opset", "names", "attributes"),
    [
        ("Softmax", 9, ("x",), {"axis": 1}),
        ("Softmax", 11, ("x",), {"axis": 2}),
        ("ReduceMean", 13, ("x",), {"axes": [1], "keepdims": 0}),
        ("Unsqueeze", 11, ("x",), {"axes": [0, 2]}),
        ("Split", 11, ("x",), {"axis": 2, "split": [4]}),
        ("Cast", 18, ("x",), {"to": TensorProto.INT32}),
        ("Pad", 10, ("x",), {"pads": [0, 1, 2, 0, 0, 1], "mode": "edge"}),
        ("Clip", 10, ("x",), {"min": -0.5, "max": 1.5}),
        ("Dropout", 9, ("x",), {}),
    ],
)
def test_rules_and_the_converter_hold_where_they_are_searched(op, opset, names, attributes):
    kind = attributes.get("to", TensorProto.FLOAT)
    model = old(op, opset, dict.fromkeys(names, X), kind=kind, **attributes)
    certificate = search.search(only_key(model, opset))
    accepted = {SearchOutcome.CERTIFIED, SearchOutcome.LIMITED}
    assert certificate.outcome in accepted, certificate
    assert set(certificate.limits) <= {EMPTY, FEW_SIZES}


def test_the_fault_of_resize_that_no_generated_input_showed_would_be_noticed(monkeypatch):
    """Two Resize nodes, of which the second keeps the shape and so returns its input."""
    monkeypatch.setitem(RULES, "Resize", list(RULES["Resize"]))
    RULES["Resize"][:] = [row for row in RULES["Resize"] if row.source != 10]

    @rule("faulty", "Resize", source=10, target=11)
    def rewrite(case):
        name = case.input(0)
        scales = case.values(case.input(1))
        for rounding, part in (("ceil", np.minimum(scales, 1)), ("floor", np.maximum(scales, 1))):
            output = case.output(0) if rounding == "floor" else case.fresh("shrunk")
            empty, measure = (case.value(each, TensorProto.FLOAT) for each in ([], part))
            case.put(
                "Resize", [name, empty, measure], [output], mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode=rounding,
            )  # fmt: skip
            name = output

    scales = np.array([1, 1, 0.5, 1.04], np.float32)
    feeds = {"x": floats(1, 2, 5, 6), "s": scales}
    model = old("Resize", 10, feeds, constants={"s": scales}, mode="nearest")
    certificate = search.search(only_key(model, 10))
    assert certificate.outcome == SearchOutcome.DIFFERENT
    assert max(certificate.counterexample.sizes.values()) == 2


def test_equal_nodes_have_equal_keys_whatever_their_names_and_sizes():
    one = old("Softmax", 9, {"x": X}, axis=1)
    other = old("Softmax", 9, {"input": floats(5, 6, 7)}, axis=1)
    other.graph.node[0].name = "another"
    assert only_key(one, 9) == only_key(other, 9)
    assert only_key(one, 9).digest == only_key(other, 9).digest
    assert only_key(one, 9) != only_key(old("Softmax", 9, {"x": X}, axis=2), 9)
    # The same up to opset 10.
    assert only_key(one, 9) == only_key(old("Softmax", 10, {"x": X}, axis=1), 10)
    assert only_key(one, 9) != only_key(old("Softmax", 11, {"x": X}, axis=1), 11)
    assert only_key(one, 9) != only_key(old("Softmax", 9, {"x": X.astype(np.int64)}), 9)


def test_small_constants_are_part_of_the_key_and_weights_are_not():
    def resize(scale):
        scales = np.array([1, 1, 1, scale], np.float32)
        feeds = {"x": floats(1, 2, 5, 6), "s": scales}
        return only_key(old("Resize", 10, feeds, constants={"s": scales}, mode="nearest"), 10)

    assert resize(1.5) != resize(1.04)
    slope = floats(3, 100)
    feeds = {"x": floats(2, 3, 100), "s": slope}
    constant = only_key(old("PRelu", 6, feeds, constants={"s": slope}), 6)
    assert [bool(kind.constant) for kind in constant.inputs] == [False, False]


def test_equal_sizes_of_a_model_stay_equal():
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])
    ports = [port("x", (1, 16, 5, 7)), *(port(name, (16,)) for name in "sbmv")]
    model = samples.model([node], ports, [port("y", (1, 16, 5, 7))], opset=9)
    key = only_key(model, 9)
    assert [kind.classes for kind in key.inputs] == [(0, 1, 2, 3), *[(1,)] * 4]


def test_nodes_inside_graphs_have_keys_and_nodes_with_graphs_say_that_they_have_none():
    body = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["z"], axis=1)], "then", [], [port("z", None)]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["w"])], "else", [], [port("w", None)]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)
    ports = [port("x", (2, 3, 4)), port("c", (), TensorProto.BOOL)]
    model = samples.model([node], ports, [port("y", None)], opset=11)
    rows = [key for key, _ in keys.keys_of(model, 11, 26)]
    assert [key.op for key in rows if not isinstance(key, str)] == ["Softmax"]


@pytest.mark.parametrize("kind", list(ValueKind))
@pytest.mark.parametrize(
    "dtype",
    [
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
        TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64, TensorProto.UINT64,
        TensorProto.BOOL, TensorProto.STRING, TensorProto.FLOAT8E4M3FN, TensorProto.INT4,
    ],
)  # fmt: skip
def test_values_of_every_type_are_drawn_and_repeat(dtype, kind):
    first, again = (domains.draw(dtype, (3, 5), kind, np.random.default_rng(7)) for _ in range(2))
    assert first.shape == (3, 5)
    assert first.dtype == helper.tensor_dtype_to_np_dtype(dtype)
    assert first.tobytes() == again.tobytes() or dtype == TensorProto.STRING


def test_whole_ranges_reach_both_ends():
    drawn = domains.draw(TensorProto.INT8, (2000,), ValueKind.RANGE, np.random.default_rng(1))
    assert (drawn.min(), drawn.max()) == (-128, 127)
    special = domains.draw(TensorProto.FLOAT, (500,), ValueKind.SPECIAL, np.random.default_rng(1))
    assert np.isnan(special).any()
    assert np.isinf(special).any()
    assert (special == np.finfo(np.float32).max).any()
    assert (np.abs(special) == np.float32(1.4e-45)).any()


def test_a_constant_keeps_its_values_in_the_model_of_a_key():
    scales = np.array([1, 1, 1, 1.5], np.float32)
    feeds = {"x": floats(1, 2, 5, 6), "s": scales}
    key = only_key(old("Resize", 10, feeds, constants={"s": scales}, mode="nearest"), 10)
    [tensor] = key.model().graph.initializer
    assert numpy_helper.to_array(tensor).tolist() == scales.tolist()


def test_targets_that_mean_the_same_have_one_certificate():
    """ReduceMean has its axes as an input from opset 18 on."""
    model = old("ReduceMean", 13, {"x": X}, axes=[1])
    digests = {converted(only_key(model, 13, target)).digest for target in (18, 23, 26)}
    assert len(digests) == 1
    assert converted(only_key(model, 13, 26)).key.target == 18


def test_keys_pass_through_json():
    scales = np.array([1, 1, 1, 1.5], np.float32)
    feeds = {"x": floats(1, 2, 5, 6), "s": scales}
    key = only_key(old("Resize", 10, feeds, constants={"s": scales}, mode="nearest"), 10)
    again = keys.NodeKey.from_json(json.loads(json.dumps(key.to_json())))
    assert (again, again.sizes, again.digest) == (key, key.sizes, key.digest)


def test_nodes_inside_functions_have_keys():
    node = helper.make_node("Softmax", ["a"], ["b"], axis=1)
    imports = [helper.make_opsetid("", 11)]
    function = helper.make_function("local", "Soft", ["a"], ["b"], [node], imports)
    call = helper.make_node("Soft", ["x"], ["y"], domain="local")
    model = samples.model([call], [port("x", (2, 3, 4))], [port("y", (2, 3, 4))], opset=11)
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.functions.append(function)
    assert only_key(model, 11) == only_key(old("Softmax", 11, {"x": X}, axis=1), 11)


@pytest.mark.parametrize(
    ("op", "opset", "shape", "attributes"),
    [
        ("Softmax", 9, (2, 3, 4), {"axis": 1}),
        ("ReduceMean", 13, (3, 2, 2), {"axes": [1], "keepdims": 0}),
        ("Unsqueeze", 11, (2, 3, 4), {"axes": [0]}),
    ],
)
def test_certificates_of_usual_nodes_come_with_the_hub(op, opset, shape, attributes):
    """If a rule changed: `python benchmarks/opset_upgrade.py --certificates --write`."""
    model = old(op, opset, {"x": floats(*shape)}, **attributes)
    row = certificates.shipped(converted(only_key(model, opset)).digest)
    assert (row.op, row.outcome in EQUAL) == (op, True)
