"""Faults of ONNX Runtime's graph optimiser: named with the pass, and cut out as a small model."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from runners.engine.runs import optimiser
from runners.engine.runs.answers import OptimisedRun
from runners.engine.runtimes import graph_passes
from runners.sandbox import Request
from tests.engine.conftest import SMALL, SUBJECT, codes

LIMITS = replace(SMALL, file_bytes=1 << 24, memory_bytes=2 << 30, cpu_seconds=20)
HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


@pytest.fixture
def judge(sandbox, stored):
    def run(model):
        paths = stored({"model.onnx": model.SerializeToString()})
        request = Request("conformance", "model.onnx", paths, SUBJECT, {}, LIMITS)
        files = {}

        def keep(report, folder):
            files.update((one.name, (folder / one.name).read_bytes()) for one in report.outputs)
            return report

        report = sandbox.run(request, keep=keep)
        return report, {one["check"]: one for one in report.measures}, files

    return run


def around(*nodes, head):
    """The nodes between two others, which a reduced model should not have."""
    body = "\n".join(["a = Abs(x)", *nodes, "y = Neg(z)"])
    return parser.parse_model(f"{HEADER} g {head} {{ {body} }}")


def operators_in(evidence):
    with zipfile.ZipFile(io.BytesIO(evidence)) as archive:
        assert "test_data_set_0/output_0.pb" in archive.namelist()
        model = onnx.load_from_string(archive.read("model.onnx"))
    return [node.op_type for node in model.graph.node]


def quantised_twice():
    """The coarser of two quantisations decides, and a pass drops it (ONNX Runtime 1.32)."""
    return around(
        "q = QuantizeLinear(a, s, n)",
        "d = DequantizeLinear(q, s, n)",
        "r = QuantizeLinear(d, t, m)",
        "z = DequantizeLinear(r, t, m)",
        head="(float[N] x) => (float[N] y) "
        "<float s = {0.01}, uint8 n = {0}, float t = {1.0}, uint8 m = {5}>",
    )


def reciprocal_of_nothing():
    """1 / a overflows for a subnormal number, and is multiplied later: fused, it does not."""
    return around(
        "b = Mul(a, tiny)",
        "d = Div(one, b)",
        "z = Mul(d, b)",
        head="(float[N] x) => (float[N] y) <float one = {1.0}, float tiny = {1e-39}>",
    )


def weights_along_axis_1():
    """Scales along the input channels of a Conv, which its fused form takes as output channels."""
    numbers = np.random.default_rng(0)
    model = around(
        "q = QuantizeLinear(a, s, n)",
        "d = DequantizeLinear(q, s, n)",
        "v = DequantizeLinear<axis = 1>(w, t, m)",
        "c = Conv<pads = [1, 1, 1, 1]>(d, v)",
        "r = QuantizeLinear(c, u, n)",
        "z = DequantizeLinear(r, u, n)",
        head="(float[N, 3, 8, 8] x) => (float[N, 4, 8, 8] y) <float s = {0.05}, uint8 n = {128}, "
        "float[3] t = {0.001, 0.01, 0.1}, int8[3] m = {0, 0, 0}, float u = {0.5}>",
    )
    weights = numbers.integers(-100, 100, (4, 3, 3, 3)).astype(np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def transposed_after_int8():
    """A QuantizeLinear that a pass inserts says int8, and has a zero point of uint8."""
    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[2, 3] x) => (float[3, 2] y) '
        "<float s = {0.1}, int8 n = {0}> { a = Abs(x)\nq = QuantizeLinear(a, s, n)\n"
        "d = DequantizeLinear(q, s, n)\nz = Transpose<perm = [1, 0]>(d)\ny = Neg(z) }"
    )
    return parser.parse_model(text)


@pytest.mark.parametrize(
    ("make", "name", "operators"),
    [
        (
            transposed_after_int8,
            "QDQS8ToU8Transformer",
            ["DequantizeLinear", "Transpose"],
        ),
        (
            quantised_twice,
            "DoubleQDQPairsRemover",
            ["QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear"],
        ),
        (reciprocal_of_nothing, "DivMulFusion", ["Div", "Mul"]),
        (
            weights_along_axis_1,
            "QDQSelectorActionTransformer",
            ["DequantizeLinear", "DequantizeLinear", "Conv", "QuantizeLinear"],
        ),
    ],
)
def test_a_pass_that_breaks_a_model_is_named_and_cut_out(judge, make, name, operators):
    report, measures, files = judge(make())
    measure = measures["optimisation"]
    assert (measure["outcome"], measure["blames"]) == ("failed", "optimiser"), measure
    assert measure["graph_pass"] == name
    assert f"by the pass {name}" in measure["reason"]
    assert "conformance-wrong-optimisation" in codes(report)
    assert measure["evidence"] == f"diverging-{name}.zip"
    assert operators_in(files[measure["evidence"]]) == operators


def test_a_model_that_runs_only_unoptimised_is_said_to_do_so(judge):
    report, measures, _ = judge(weights_along_axis_1())
    assert {one["blames"] for one in measures.values()} == {"optimiser"}
    assert {one["runs"] for one in measures.values()} == {False}
    assert "without graph optimisation it runs" in measures["reference"]["reason"]
    assert "from the level extended of graph optimisation on" in measures["reference"]["reason"]
    assert codes(report) == ["conformance-wrong-optimisation"]


def test_the_cause_may_be_two_passes_together():
    """Whichever of two passes is left, the model fails."""

    def run_with(passes):
        suspects = [name for name in ("A", "B", "C") if name not in passes.without]
        is_broken = passes.level != "basic" and {"A", "B"} & set(suspects)
        return OptimisedRun("it differs" if is_broken else "", suspects)

    fault = optimiser.search(run_with)
    assert fault == optimiser.OptimiserFault("extended", ("A", "B"), "it differs")
    assert optimiser.search(lambda _: OptimisedRun("", ["A"])) is None


def test_the_log_names_the_passes_that_changed_something():
    log = """
    Applying graph transformer ConstantSharing on step 1.
    GraphTransformer ConstantSharing modified: 1 with status: OK
    Applying graph transformer GeluFusionL1 on step 1.
    GraphTransformer GeluFusionL1 modified: 0 with status: OK
    Applying graph transformer QDQS8ToU8Transformer on step 1.
    """
    assert graph_passes.suspects(log) == ["QDQS8ToU8Transformer", "ConstantSharing"]
    rules = "GraphTransformer Level1_RuleBasedTransformer modified: 1 with status: OK"
    assert graph_passes.suspects(rules) == [*graph_passes.RULES, "Level1_RuleBasedTransformer"]
