"""Variants in other precisions, through the whole sandbox, with models built here."""

from __future__ import annotations

import io

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from hub.protocol import arithmetic
from runners.sandbox import Limits, Request
from tests import samples
from tests.engine.conftest import SUBJECT, codes

LIMITS = Limits(wall_seconds=60, cpu_seconds=20, output_bytes=4 << 20)


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def data_set(place, *arrays):
    """Give the files of one test data set's inputs."""
    return {
        f"test_data_set_{place}/input_{k}.pb": numpy_helper.from_array(array).SerializeToString()
        for k, array in enumerate(arrays)
    }


def perceptron(**fields):
    """Give a model that is nearly all weights, with three data sets beside it."""
    made = samples.model(
        [
            samples.node("MatMul", ["x", "w1"], ["h"]),
            samples.node("Relu", ["h"], ["r"]),
            samples.node("MatMul", ["r", "w2"], ["y"]),
        ],
        [samples.value("x", shape=("N", 64))],
        [samples.value("y", shape=("N", 16))],
        [weights("w1", (64, 128)), weights("w2", (128, 16))],
    )
    for key, held in fields.items():
        setattr(made, key, held)
    files = {"model.onnx": made.SerializeToString()}
    for place in range(3):
        files |= data_set(place, random((5, 64), place))
    return files


def weights(name, shape):
    return numpy_helper.from_array(random(shape, len(name) + shape[0]) / 8, name)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.fixture
def convert(sandbox, stored):
    """Run a conversion; gives the report and, by name, the bytes of what it made."""

    def run(files, recipe, *, entry="model.onnx", calibration="", limits=LIMITS, **more):
        if isinstance(files, bytes):
            files = {entry: files}
        options = {"recipe": recipe, "calibration": calibration, **more}
        request = Request("convert", entry, stored(files), SUBJECT, options, limits)
        made = {}

        def keep(report, folder):
            for path in folder.iterdir():
                made[path.name] = path.read_bytes()
            return report

        return sandbox.run(request, keep=keep), made

    return run


def overflowing(scale=3e3):
    """A perceptron whose hidden values exceed what half precision holds, and come back."""
    model = samples.model(
        [
            samples.node("MatMul", ["x", "w"], ["h"], name="first"),
            samples.node("Relu", ["h"], ["r"], name="relu"),
            samples.node("MatMul", ["r", "v"], ["z"], name="second"),
            samples.node("Softmax", ["z"], ["y"], name="last", axis=-1),
        ],
        [samples.value("x", shape=("N", 64))],
        [samples.value("y", shape=("N", 16))],
        [
            numpy_helper.from_array(random((64, 32)) * scale, "w"),
            numpy_helper.from_array(random((32, 16), 1) / scale / 20, "v"),
        ],
    )
    return model.SerializeToString()


def computed_in_half(raw, values):
    """The reference's outputs, which are of half precision throughout."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(onnx.load_from_string(raw)).run(None, values)[0]


class TestHalfPrecision:
    def test_nodes_that_would_overflow_stay_in_float32(self, convert):
        source = overflowing()
        report, files = convert(source, "fp16")
        assert (report.outcome, codes(report)) == ("passed", ["variant-larger"])
        reasons = {row["node"]: row["reason"] for row in report.facts["in_float32"]}
        assert set(reasons) == {"first", "relu", "second"}
        assert "h reaches" in reasons["first"]
        x = random((4, 64), 5)
        assert np.isfinite(computed_in_half(files["model.fp16.onnx"], {"x": x})).all()
        ranges = report.facts["ranges"]
        assert ranges["largest"] > 65504
        assert ranges["sets"] == ranges["of"] == 4

    def test_a_model_of_which_every_product_overflows_stays_as_it_is(self, convert):
        model = samples.model(
            [samples.node("MatMul", ["x", "w"], ["y"], name="only")],
            [samples.value("x", shape=("N", 64))],
            [samples.value("y", shape=("N", 32))],
            [numpy_helper.from_array(random((64, 32)) * 3e4, "w")],
        )
        report, _ = convert(model.SerializeToString(), "fp16")
        assert codes(report) == ["nothing-to-convert"]
        assert [row["node"] for row in report.facts["in_float32"]] == ["only"]

    def test_figures_say_what_computed_them(self, convert):
        report, _ = convert(overflowing(scale=1.0), "fp16")
        half = report.facts["parity"]["half"]
        assert (half["sets"], half["of"]) == (4, 4)
        assert half["cosine"] > 0.999
        assert report.facts["in_float32"] == []
        assert arithmetic.sentence(report.facts["parity"]) == (
            "computed in float32 on CPU; in half by the reference on 4 inputs"
        )

    def test_a_node_that_overflows_inside_is_found_by_the_reference(self, convert):
        """The mean of squares has a sum that no value of the graph shows."""
        model = samples.model(
            [
                samples.node("MatMul", ["x", "w"], ["h"], name="first"),
                samples.node("ReduceL2", ["h"], ["n"], name="norm", axes=[1]),
                samples.node("Div", ["h", "n"], ["y"], name="divide"),
            ],
            [samples.value("x", shape=("N", 64))],
            [samples.value("y", shape=("N", 32))],
            [numpy_helper.from_array(random((64, 32)) * 60, "w")],
            opset=17,
        )
        report, files = convert(model.SerializeToString(), "fp16")
        assert (report.outcome, codes(report)) == ("passed", [])
        reasons = {row["node"]: row["reason"] for row in report.facts["in_float32"]}
        assert reasons == dict.fromkeys(("norm", "divide"), "overflows in half precision")
        x = random((4, 64), 5)
        assert np.isfinite(computed_in_half(files["model.fp16.onnx"], {"x": x})).all()

    def test_nodes_may_be_named(self, convert):
        report, files = convert(overflowing(scale=1.0), "fp16", keep_float32=["second"])
        assert report.facts["in_float32"] == [{"node": "second", "reason": "requested"}]
        variant = onnx.load_from_string(files["model.fp16.onnx"])
        kinds = {tensor.name: tensor.data_type for tensor in variant.graph.initializer}
        assert kinds == {"w": onnx.TensorProto.FLOAT16, "v": onnx.TensorProto.FLOAT}
        report, _ = convert(overflowing(), "fp16", keep_float32=["third"])
        assert codes(report) == ["node-unknown"]
        assert "no node 'third'" in report.findings[0].message


class TestRecipes:
    def test_half_precision(self, convert):
        report, made = convert(perceptron(), "fp16")
        assert (report.outcome, codes(report)) == ("passed", [])
        assert list(made) == ["model.fp16.onnx"]
        variant = onnx.load_from_string(made["model.fp16.onnx"])
        kinds = {tensor.name: tensor.data_type for tensor in variant.graph.initializer}
        assert set(kinds.values()) == {onnx.TensorProto.FLOAT16}
        # Whoever calls it need not know.
        ports = (*variant.graph.input, *variant.graph.output)
        assert {port.type.tensor_type.elem_type for port in ports} == {onnx.TensorProto.FLOAT}
        assert [port.name for port in ports] == ["x", "y"]
        assert 0.5 < report.facts["sizes"]["ratio"] < 0.7
        assert report.facts["parity"]["cosine"] > 0.999
        assert 0 < report.facts["parity"]["max_abs"] < 0.01

    def test_dynamic_quantisation(self, convert):
        report, made = convert(perceptron(), "int8")
        assert (report.outcome, codes(report)) == ("passed", [])
        variant = onnx.load_from_string(made["model.int8.onnx"])
        operators = {node.op_type for node in variant.graph.node}
        assert "MatMulInteger" in operators
        assert report.facts["sizes"]["ratio"] < 0.5
        assert report.facts["calibration"] is None
        assert report.facts["parity"]["cosine"] > 0.99

    def test_static_quantisation_holds_data_out(self, convert):
        report, made = convert(perceptron(), "int8-qdq")
        assert (report.outcome, codes(report)) == ("passed", [])
        variant = onnx.load_from_string(made["model.int8-qdq.onnx"])
        assert "QuantizeLinear" in {node.op_type for node in variant.graph.node}
        assert report.facts["calibration"] == {"from": "bundled", "samples": 2}
        assert report.facts["parity"]["held_out"]
        own = {one["dataset"] for one in report.measures if one["origin"] == "bundled"}
        assert own == {"test_data_set_2"}

    def test_a_single_data_set_is_not_held_out(self, convert):
        files = {"model.onnx": perceptron()["model.onnx"], **data_set(0, random((5, 64)))}
        report, _ = convert(files, "int8-qdq")
        assert report.outcome == "passed"
        assert report.facts["calibration"] == {"from": "bundled", "samples": 1}
        assert not report.facts["parity"]["held_out"]

    def test_facts_that_a_reader_needs(self, convert):
        report, made = convert(perceptron(), "int8")
        facts, (output,) = report.facts, report.outputs
        assert output.name == "model.int8.onnx"
        assert facts["recipe"] == "int8"
        assert facts["tool"]["name"] == "onnxruntime.quantization.quantize_dynamic"
        assert facts["tool"]["version"] == report.versions["onnxruntime"]
        assert facts["sizes"]["after"] == len(made["model.int8.onnx"])
        assert facts["described"]["precision"].startswith("int8")
        assert facts["described"]["size"]["entry"] == facts["sizes"]["after"]
        assert facts["checker"] == ""
        assert {one["name"] for one in report.measures} == {"y"}

    def test_documentation_and_metadata_stay(self, convert):
        files = perceptron(doc_string="what it does", model_version=7)
        made = onnx.load_from_string(files["model.onnx"])
        onnx.helper.set_model_props(made, {"task": "demo"})
        files["model.onnx"] = made.SerializeToString()
        for recipe in ("fp16", "int8"):
            _, outputs = convert(files, recipe)
            (written,) = outputs.values()
            variant = onnx.load_from_string(written)
            assert (variant.doc_string, variant.model_version) == ("what it does", 7)
            assert {"task": "demo"}.items() <= {
                entry.key: entry.value for entry in variant.metadata_props
            }.items()


class TestModelsThatToolsDoNotLike:
    def test_an_old_opset_is_renewed_first(self, convert):
        made = samples.model(
            [samples.node("MatMul", ["x", "w"], ["y"])],
            [samples.value("x", shape=("N", 32)), samples.value("w", shape=(32, 32))],
            [samples.value("y", shape=("N", 32))],
            [samples.tensor("w", (32, 32))],
            opset=9,
            ir=3,
        )
        files = {"model.onnx": made.SerializeToString(), **data_set(0, random((2, 32)))}
        report, _ = convert(files, "int8-qdq")
        assert report.outcome == "passed"
        assert (report.facts["opset"]["source"], report.facts["opset"]["target"]) == (9, 13)
        assert report.facts["described"]["input_count"] == 1
        assert report.facts["described"]["opset"] == 13

    @pytest.mark.parametrize("recipe", ["fp16", "int8"])
    def test_local_functions_are_inlined(self, convert, recipe):
        imports = [onnx.helper.make_opsetid("", 17)]
        body = [
            samples.node("MatMul", ["a", "w"], ["m"]),
            samples.node("Constant", [], ["two"], value_float=2.0),
            samples.node("Mul", ["m", "two"], ["b"]),
        ]
        function = onnx.helper.make_function("local", "Twice", ["a", "w"], ["b"], body, imports)
        made = samples.model(
            [samples.node("Twice", ["x", "w"], ["y"], domain="local")],
            [samples.value("x", shape=("N", 64))],
            [samples.value("y", shape=("N", 64))],
            [samples.tensor("w", (64, 64))],
            domains=[("local", 1)],
            functions=[function],
        )
        report, _ = convert(made.SerializeToString(), recipe)
        assert report.outcome == "passed"
        assert "functions inlined" in report.facts["prepared"]
        assert report.facts["parity"]["cosine"] > 0.99

    def test_external_data_is_taken_along(self, convert):
        files = samples.with_external_data()
        report, made = convert(files, "fp16")
        assert report.outcome == "passed"
        assert report.facts["sizes"]["before"] == sum(len(held) for held in files.values())
        assert list(made) == ["model.fp16.onnx"]

    def test_readers_of_one_value_that_all_stay_in_float32(self, convert):
        """The half-precision tool casts once for each of them, under the same name."""
        nodes = [
            samples.node("MatMul", ["x", "w"], ["h"]),
            samples.node("Max", ["h", "h"], ["a"]),
            samples.node("Min", ["h", "a"], ["y"]),
        ]
        made = samples.model(
            nodes,
            [samples.value("x", shape=("N", 64))],
            [samples.value("y", shape=("N", 64))],
            [samples.tensor("w", (64, 64))],
        )
        report, outputs = convert(made.SerializeToString(), "fp16")
        assert report.outcome == "passed"
        onnx.checker.check_model(outputs["model.fp16.onnx"])

    def test_random_outputs_are_not_judged(self, convert):
        made = samples.model(
            [
                samples.node("MatMul", ["x", "w"], ["y"]),
                samples.node("RandomNormalLike", ["y"], ["noise"]),
            ],
            [samples.value("x", shape=("N", 64))],
            [samples.value("y", shape=("N", 64)), samples.value("noise", shape=("N", 64))],
            [samples.tensor("w", (64, 64))],
        )
        report, _ = convert(made.SerializeToString(), "fp16")
        assert report.outcome == "passed"
        assert report.facts["parity"]["unsteady"] == ["noise"]
        assert {one["name"] for one in report.measures} == {"y"}


class TestRefusals:
    @pytest.mark.parametrize("recipe", ["fp16", "int8"])
    def test_nothing_to_convert(self, convert, recipe):
        made = samples.model([samples.node("Relu", ["x"], ["y"])])
        report, outputs = convert(made.SerializeToString(), recipe)
        assert (report.outcome, codes(report)) == ("failed", ["nothing-to-convert"])
        assert outputs == {}

    def test_quantised_already(self, convert):
        report, _ = convert(samples.quantised(), "int8")
        assert (report.outcome, codes(report)) == ("failed", ["nothing-to-convert"])
        assert "already quantised (DequantizeLinear)" in report.findings[0].message

    def test_static_quantisation_is_never_calibrated_on_made_inputs(self, convert):
        report, _ = convert(samples.mlp(), "int8-qdq")
        assert (report.outcome, codes(report)) == ("failed", ["calibration-missing"])

    def test_an_original_that_does_not_run(self, convert):
        report, _ = convert(samples.unknown_domain(), "fp16")
        assert (report.outcome, codes(report)) == ("failed", ["original-not-running"])

    def test_an_original_that_kills(self, convert):
        report, _ = convert(samples.layernorm_killer(), "int8")
        assert (report.outcome, codes(report)) == ("failed", ["original-not-running"])
        assert "crashed with SIGSEGV" in report.findings[0].message

    def test_a_variant_below_the_floor(self, convert):
        """Calibrated on positive values only, it gives nothing but zeros for negative ones."""
        positive = np.abs(random((5, 64)))
        files = {"model.onnx": perceptron()["model.onnx"]}
        files |= data_set(0, positive) | data_set(1, -positive)
        made = onnx.load_from_string(files["model.onnx"])
        made.graph.node[1].op_type = "Neg"
        files["model.onnx"] = made.SerializeToString()
        report, outputs = convert(files, "int8-qdq")
        assert (report.outcome, codes(report)) == ("failed", ["variant-unusable"])
        assert "y: its cosine with the original's values is 0.00" in report.findings[0].message
        assert outputs == {}

    def test_a_larger_variant_is_told(self, convert):
        made = samples.model(
            [samples.node("MatMul", ["x", "w"], ["y"])],
            [samples.value("x", shape=("N", 4))],
            [samples.value("y", shape=("N", 4))],
            [samples.tensor("w", (4, 4))],
        )
        report, _ = convert(made.SerializeToString(), "int8")
        assert (report.outcome, codes(report)) == ("passed", ["variant-larger"])
        assert report.findings[0].severity == "warning"

    def test_an_unknown_recipe_is_our_fault(self, convert):
        report, _ = convert(samples.mlp(), "int3")
        assert (report.outcome, codes(report)) == ("errored", ["engine-error"])


class TestSamples:
    @pytest.mark.parametrize("shape", [(8, 64), (8, 1, 64)], ids=["batch axis", "samples first"])
    def test_a_sample_calibrates(self, convert, shape):
        files = {"model.onnx": perceptron()["model.onnx"], "s.npz": npz(x=random(shape))}
        report, _ = convert(files, "int8-qdq", calibration="s.npz")
        assert (report.outcome, codes(report)) == ("passed", [])
        assert report.facts["calibration"] == {"from": "sample", "samples": 6}
        assert report.facts["parity"]["held_out"]

    @pytest.mark.parametrize(
        ("sample", "words"),
        [
            (npz(z=random((8, 4))), "The sample contains z. Store one array for each of x"),
            (npz(x=random((8, 4)).astype(np.float64)), "'x' takes float32"),
            (npz(x=random((8, 1, 1, 4))), "'x' has 2 dimensions; the sample needs 3"),
            (npz(x=random((0, 4))), "have [0] samples"),
            (npz(x=np.array([{"a": 1}], dtype=object)), "holds pickled objects"),
            (b"PK\x03\x04 nonsense", "not a readable .npz"),
            (b"nonsense", "not a readable .npz"),
        ],
    )
    def test_samples_that_do_not_fit(self, convert, sample, words):
        files = {"model.onnx": samples.mlp(), "s.npz": sample}
        report, _ = convert(files, "int8-qdq", calibration="s.npz")
        assert (report.outcome, codes(report)) == ("failed", ["calibration-unusable"])
        assert words in report.findings[0].message

    def test_a_sample_that_is_not_there_is_our_fault(self, convert):
        report, _ = convert(samples.mlp(), "int8-qdq", calibration="s.npz")
        assert (report.outcome, codes(report)) == ("errored", ["input-missing"])


class TestLargeFiles:
    """What would need gigabytes is tried with a lower bound, in this process."""

    @pytest.mark.parametrize("recipe", ["fp16", "int8", "int8-qdq"])
    def test_weights_go_to_a_file_beside(self, monkeypatch, tmp_path, recipe):
        from runners.engine import runtimes
        from runners.engine.convert import makers, parity, prepare
        from runners.engine.convert.recipes import RECIPES
        from runners.engine.onnx_files import whole_models as files

        monkeypatch.setattr(files, "INLINE_BYTES", 1000)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        choice = RECIPES[recipe]
        folder = tmp_path / "input"
        for path, content in perceptron().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        source, target = folder / "model.onnx", tmp_path / "model.made.onnx"
        ran = parity.baseline(source, tmp_path, None, calibrates=choice.calibrates, generated=False)
        prepare.prepare(source, tmp_path, choice)
        makers.make(choice, choice.attempts[0], source, tmp_path, target)
        assert [path.name for path in files.family(target)] == [
            "model.made.onnx",
            "model.made.onnx.data",
        ]
        assert target.with_name("model.made.onnx.data").stat().st_size > 1000
        runtimes.of("onnxruntime").open(target)
        assert parity.compare(source, target, tmp_path, choice, ran).broken == []
