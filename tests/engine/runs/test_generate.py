"""Inputs made from a model's graph: shapes that belong together, values that fit their use."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.protocol import inputs as declarations
from runners.engine import runtimes
from runners.engine.runs import branch_inputs, generate
from runners.engine.runs.generate import GENERATED, SEARCHED, SWEPT, VARIED, datasets
from tests import decoders, samples

INT64 = TensorProto.INT64


def made(nodes, inputs, *, initializers=(), seed=1, size=2, **others):
    model = samples.model(nodes, inputs, initializers=initializers)
    return generate.generate(model, seed=seed, size=size, **others)


def port(name, dtype=TensorProto.FLOAT, shape=("N",)):
    return samples.value(name, dtype, shape)


def test_symbols_are_shared_and_fixed_sizes_kept():
    values = made([], [port("a", shape=("B", 3, "T")), port("b", shape=("T", "B"))], size=3)
    assert (values["a"].shape, values["b"].shape) == ((3, 3, 3), (3, 3))
    assert values["a"].dtype == np.float32


def test_the_same_seed_makes_the_same_values():
    first, again, other = (made([], [port("x", shape=(4,))], seed=seed)["x"] for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_long_inputs_do_not_become_many():
    values = made(
        [], [port("x", shape=("batch", "samples")), port("y", shape=(None, None))], size=64
    )
    assert values["x"].shape == values["y"].shape == (3, 64)


def test_free_sizes_are_those_that_the_card_declares():
    inputs = [port("x", shape=("B", None)), port("y", shape=("B", "T")), port("z", shape=(4, None))]
    sizes = declared(x={"shape": [5, 576]}, y={"shape": [None, 7]}, z={"shape": [3]})
    model = samples.model([], inputs)
    for made in datasets(model, declared=sizes, origin=SWEPT):
        x, y, z = (made.inputs[name].shape for name in "xyz")
        assert (x, y, z[0]) == ((5, 576), (5, 7), 4)


def test_images_of_unknown_size_are_large_enough():
    assert made([], [port("x", shape=("N", 3, "H", "W"))], size=2)["x"].shape == (2, 3, 64, 64)
    assert made([], [port("x", shape=(1, "H", "W", 3))], size=1)["x"].shape == (1, 32, 32, 3)


def test_sums_of_symbols_hold():
    values = made(
        [],
        [
            port("past", shape=(1, "past_len", 2)),
            port("mask", INT64, (1, "past_len + seq_len")),
            port("other", shape=(1, "total_len")),
        ],
        size=3,
    )
    assert values["mask"].shape == (1, 6)
    assert values["other"].shape == (1, 6)
    assert set(np.unique(values["mask"])) <= {0, 1}
    assert values["mask"].any()


def test_indices_stay_inside_the_table_behind_casts_and_reshapes():
    nodes = [
        samples.node("Cast", ["ids"], ["c"], to=INT64),
        samples.node("Unsqueeze", ["c", "axes"], ["u"]),
        samples.node("Gather", ["table", "u"], ["y"]),
    ]
    table = samples.tensor("table", (5, 2))
    inputs = [port("ids", TensorProto.INT32, (200,))]
    ids = made(nodes, inputs, initializers=[table])["ids"]
    assert ids.dtype == np.int32
    assert (ids.min(), ids.max()) == (0, 4)


def test_the_axis_of_a_lookup_counts():
    nodes = [samples.node("Gather", ["table", "ids"], ["y"], axis=1)]
    ids = made(nodes, [port("ids", INT64, (200,))], initializers=[samples.tensor("table", (50, 3))])
    assert ids["ids"].max() == 2


def test_values_that_the_graph_tests_for_are_chosen():
    rate = numpy_helper.from_array(np.array(16000, np.int64), "rate")
    inputs = [port("sr", INT64, ())]
    values = made([samples.node("Equal", ["sr", "rate"], ["y"])], inputs, initializers=[rate])
    assert values["sr"].tolist() == 16000


def test_masks_positions_and_images_by_name_and_type():
    values = made(
        [],
        [
            port("attention_mask", INT64, (4, 9)),
            port("position_ids", INT64, (2, 5)),
            port("token_type_ids", INT64, (1, 50)),
            port("image", TensorProto.UINT8, (1, 40, 40, 3)),
            port("flag", TensorProto.BOOL, (50,)),
        ],
    )
    mask = values["attention_mask"]
    assert (np.diff(mask, axis=1) <= 0).all()
    assert mask[:, 0].all()
    assert values["position_ids"].tolist() == [[0, 1, 2, 3, 4]] * 2
    assert values["token_type_ids"].max() == 1
    assert values["image"].max() > 200
    assert set(values["flag"].tolist()) == {True, False}


@pytest.mark.parametrize(
    ("operator", "place", "expected"),
    [("Reshape", 1, [-1, 1]), ("Expand", 1, [1, 1]), ("ConstantOfShape", 0, [2, 2])],
)
def test_inputs_that_are_shapes(operator, place, expected):
    names = ["d", "shape"][1 - place :]
    inputs = [port(name, INT64 if name == "shape" else TensorProto.FLOAT, (2,)) for name in names]
    assert made([samples.node(operator, names, ["y"])], inputs)["shape"].tolist() == expected


def test_text_sequences_maps_and_optionals():
    plain = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
    scores = helper.make_map_type_proto(TensorProto.STRING, plain)
    kinds = {
        "sequence": helper.make_sequence_type_proto(plain),
        "maybe": helper.make_optional_type_proto(plain),
        "map": scores,
    }
    inputs = [onnx.ValueInfoProto(name=name, type=kind) for name, kind in kinds.items()]
    vectorizer = samples.node(
        "DictVectorizer", ["map"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"]
    )
    values = made([vectorizer], [*inputs, port("text", TensorProto.STRING, (3,))])
    assert [part.shape for part in values["sequence"]] == [(2,), (2,)]
    assert values["maybe"].shape == (2,)
    assert values["map"].keys() <= {"a", "b", "c"}
    assert values["map"]
    assert all(isinstance(word, str) for word in values["text"])


def test_inputs_with_defaults_are_left_alone():
    inputs = [port("x"), port("w", shape=(1,))]
    weights = [samples.tensor("w", (1,))]
    assert list(made([], inputs, initializers=weights)) == ["x"]


def test_what_cannot_be_made_is_said():
    huge = port("x", shape=(1 << 31, 1 << 31))
    with pytest.raises(generate.CannotGenerateError, match="memory limit"):
        made([], [huge])
    with pytest.raises(generate.CannotGenerateError, match="memory limit"):
        made([], [port("a", shape=(4000,)), port("b", shape=(4000,))], limit_bytes=50_000)
    with pytest.raises(generate.CannotGenerateError, match="dimensions"):
        made([], [onnx.ValueInfoProto(name="x", type=helper.make_tensor_type_proto(1, None))])
    nothing = onnx.ValueInfoProto(name="x")
    with pytest.raises(generate.CannotGenerateError, match="type"):
        made([], [nothing])


def test_four_sets_are_made_and_run(tmp_path):
    model = samples.mlp_proto()
    sets = generate.datasets(model, seed=3)
    assert [one.inputs["x"].shape for one in sets] == [(1, 4), (2, 4), (3, 4), (2, 4)]
    assert {one.origin for one in sets} == {"generated"}
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    go = runtimes.of("onnxruntime").open(path)
    for one in sets:
        assert np.isfinite(go(one.inputs)[0]).all()


def test_the_last_set_is_extreme():
    model = samples.model([], [port("x", shape=(500,))])
    *_, extreme = generate.datasets(model)
    x = extreme.inputs["x"]
    assert (x == 0).any()
    assert (np.abs(x) > 10).any()
    assert ((np.abs(x) < 1e-38) & (x != 0)).any()


def classifier(shape):
    """A model of one input of fixed sizes."""
    node = helper.make_node("Relu", ["x"], ["y"])
    return samples.model([node], [port("x", shape=shape)], [port("y", shape=shape)])


def declared(**inputs):
    return declarations.parse(inputs)


def test_other_kinds_of_values_are_made_beside_normal_ones():
    made = {one.name: one.inputs["x"] for one in datasets(classifier((4, 5)), origin=VARIED)}
    assert np.all((made["generated-uniform"] >= 0) & (made["generated-uniform"] < 1))
    pixels = made["generated-pixels"]
    assert np.array_equal(pixels, np.round(pixels))
    assert pixels.max() > 100
    assert np.mean(made["generated-sparse"] == 0) > 0.5
    assert not made["generated-zeros"].any()
    assert np.all(made["generated-negative"] <= 0)
    assert np.abs(made["generated-large"]).max() > 1000


@pytest.mark.parametrize("origin", [GENERATED, VARIED, SWEPT, SEARCHED])
def test_values_stay_within_what_the_card_declares(origin):
    model = classifier((4, 3, 8, 8))
    for one in datasets(model, declared=declared(x={"range": [10, 20]}), origin=origin):
        assert one.inputs["x"].min() >= 10
        assert one.inputs["x"].max() <= 20


def test_sweeps_have_exact_sides_and_all_magnitudes():
    node = helper.make_node("Relu", ["x"], ["y"])
    free = port("x", shape=("n", 3, "h", "w"))
    model = samples.model([node], [free], [port("y", shape=("n", 3, "h", "w"))])
    made = {one.name: one.inputs["x"] for one in datasets(model, origin=SWEPT)}
    assert made["generated-side-5"].shape == (3, 3, 5, 5)
    assert made["generated-side-97"].shape == (3, 3, 97, 97)
    largest = np.abs(made["generated-magnitudes"]).max()
    smallest = np.abs(made["generated-magnitudes"]).min()
    assert smallest < 1e-30
    assert 1e30 < largest < np.inf
    assert 1e8 < np.abs(made["generated-magnitude-2"]).max() < 1e11
    fixed = [one.name for one in datasets(classifier((4, 5)), origin=SWEPT)]
    assert all("magnitude" in name for name in fixed)


def test_sweeps_take_integers_from_their_whole_range():
    node = helper.make_node("Neg", ["x"], ["y"])
    ports = [port(name, TensorProto.INT64, (40,)) for name in "xy"]
    model = samples.model([node], ports[:1], ports[1:])
    (made,) = [one for one in datasets(model, origin=SWEPT) if one.name.endswith("magnitudes")]
    assert made.inputs["x"].max() > 1e8
    assert made.inputs["x"].min() < -1e8


def test_a_declared_picture_has_the_bounds_of_each_channel():
    image = {"channels": "RGB", "scale": "0-1", "mean": [0, 0.5, 1], "std": [1, 1, 1]}
    model = classifier((1, 3, 8, 8))
    for one in datasets(model, declared=declared(x={"image": image})):
        for channel, (low, high) in enumerate([(0, 1), (-0.5, 0.5), (-1, 0)]):
            values = one.inputs["x"][:, channel]
            assert low - 1e-6 <= values.min() <= values.max() <= high + 1e-6


def test_declared_values_are_chosen_from():
    spread = {"distribution": {"type": "one-of", "values": [2, 7]}}
    made = datasets(classifier((4, 5)), declared=declared(x=spread))
    assert {value for one in made for value in one.inputs["x"].reshape(-1)} == {2.0, 7.0}


def test_a_search_tries_the_thresholds_of_comparisons():
    nodes = [
        helper.make_node("Greater", ["x", "limit"], ["far"]),
        helper.make_node("Cast", ["far"], ["y"], to=TensorProto.FLOAT),
    ]
    model = samples.model(
        nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))],
        [numpy_helper.from_array(np.float32(41.5), "limit")],
    )
    assert branch_inputs.thresholds(model) == [41.5]
    filled = {float(one.inputs["x"][0]) for one in datasets(model, origin=SEARCHED)}
    assert any(value > 41.5 for value in filled)
    assert 41.5 in filled


@pytest.mark.parametrize(
    ("dtype", "operator", "blank"),
    [
        (TensorProto.BOOL, "Not", False),
        (TensorProto.INT64, "Neg", 0),
        (TensorProto.FLOAT, "Neg", 0.0),
        (TensorProto.FLOAT, "Add", -np.inf),
    ],
)
def test_masks_hide_whole_rows_in_a_set_of_their_own(dtype, operator, blank):
    reads = ["attention_mask", "attention_mask"] if operator == "Add" else ["attention_mask"]
    mask = port("attention_mask", dtype, shape=("N", 4))
    model = samples.model([samples.node(operator, reads, ["y"])], [mask, port("x")])
    sets = {dataset.name: dataset.inputs["attention_mask"] for dataset in datasets(model)}
    assert set(sets) == {f"generated-{name}" for name in ("1", "2", "3", "masked", "extreme")}
    values = sets["generated-masked"]
    assert (values[0] == blank).all()
    assert set(np.unique(values).tolist()) <= {blank, {-np.inf: 0.0}.get(blank, 1)}


def test_models_without_a_mask_have_no_such_set():
    model = samples.model([samples.node("Neg", ["x"], ["y"])], [port("x")])
    assert [dataset.name for dataset in datasets(model)] == [
        f"generated-{name}" for name in ("1", "2", "3", "extreme")
    ]


def decoder_inputs(content, size):
    return generate.generate(onnx.load_from_string(content), seed=1, size=size)


@pytest.mark.parametrize("symbol", [True, False])
def test_caches_of_grouped_attention_have_its_heads_and_their_size(symbol):
    values = decoder_inputs(decoders.grouped(symbol=symbol), 3)
    assert values["past_key_values.0.key"].shape == (1, 2, 3, 16)
    assert values["input_ids"].shape == (1, 3)
    assert values["attention_mask"].tolist() == [[1] * 6]


def test_packed_queries_give_the_size_of_a_head():
    head = 8
    model = samples.model(
        [
            samples.node("MatMulNBits", ["x", "w", "s"], ["q"], domain="com.microsoft", N=8 * head),
            samples.node(
                "GroupQueryAttention", ["q", "", "", "k", "v", "n", "t"], ["y", "kk", "vv"],
                domain="com.microsoft", num_heads=4, kv_num_heads=2,
            ),
        ],
        [port("x", shape=("B", "T", 32)), port("k", shape=("B", "heads", "P", "any")),
         port("v", shape=("B", "heads", "P", "any")), port("n", TensorProto.INT32, ("B",)),
         port("t", TensorProto.INT32, (1,))],
    )  # fmt: skip
    assert generate.generate(model, seed=1, size=2)["k"].shape == (1, 2, 2, head)


def test_caches_with_as_many_heads_as_colours_are_no_pictures():
    values = decoder_inputs(decoders.attentive(), 3)
    assert values["past_key_values.0.value"].shape == (3, 4, 3, 16)
    assert values["attention_mask"].shape == (3, 6)
    assert values["position_ids"].tolist() == [[3, 4, 5]] * 3


@pytest.mark.parametrize("content", [decoders.grouped(), decoders.attentive()])
def test_past_and_new_tokens_have_positions(content):
    values = decoder_inputs(content, 1600)
    assert values["attention_mask"].shape[1] == 64
    assert values["past_key_values.0.key"].shape[2] == values["input_ids"].shape[1] == 32


def test_a_mask_of_its_own_length_covers_the_past():
    shapes = {"ids": ("B", "T"), "cache": ("B", 2, "past", 4), "mask": ("B", "length of mask")}
    values = made([], [port(name, shape=shape) for name, shape in shapes.items()], size=3)
    assert values["mask"].shape == (3, 6)
    values = made([], [port(name, shape=shapes[name]) for name in ("ids", "mask")], size=3)
    assert values["mask"].shape == (3, 3)


def test_packed_and_cast_tables_bound_indices():
    table = numpy_helper.from_array(np.zeros((7, 4), np.uint8), "table")
    nodes = [
        samples.node("GatherBlockQuantized", ["table", "i", "s"], ["y"], domain="com.microsoft"),
        samples.node("Cast", ["table"], ["wide"], to=1),
        samples.node("Gather", ["wide", "j"], ["z"]),
    ]
    inputs = [port(name, INT64, (500,)) for name in "ij"] + [port("s", shape=(7, 1))]
    values = made(nodes, inputs, initializers=[table])
    assert values["i"].max() == values["j"].max() == 6
