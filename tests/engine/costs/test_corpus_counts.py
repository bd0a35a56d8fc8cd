"""Operations and parameters of real models, held against a count of its own and an upgrade."""

from __future__ import annotations

import onnx
import onnx.inliner
import pytest

from hub.protocol.costs import Costs
from runners.engine.costs.functions import costs_of
from runners.engine.costs.shapes import Walker
from runners.engine.graphs import skeleton
from runners.engine.onnx_files import parameters, scan
from runners.engine.opsets import conversion
from tests.engine.checks.test_corpus import CORPUS, MODELS
from tests.engine.costs import counting
from tests.engine.costs.test_costs import NOT_COMPARED, measured

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not MODELS, reason="HUB_MODEL_CORPUS names no folder with a manifest.json"),
]
# What the second count does not know, as it stops at bodies, at operators outside of ONNX, and at
# shapes that it cannot infer in models that ONNX Runtime does not run with inputs of ones.
UNCOUNTED = {
    "bert_tokenizer_contrib_op14", "custom_domain_unknown_op", "espcn_quant_brevitas_op11",
    "loop_scan_outputs", "matmulnbits_int4", "nested_if_outer_scope", "silero_vad_16k_op15",
    "silero_vad_op16_if", "sk_tfidf_text_logreg", "style_candy_op7_crop",
    "super_resolution_ir1_no_opset", "super_resolution_prepost_op18",
    "test_gradient_of_add_and_mul", "tiny_gpt2_com_microsoft_op11", "tract_qlstm_scan_op10",
    "vespa_random_decoder_op12",
}  # fmt: skip
# Elements that the second count takes for parameters: int32 numbers from which a graph puts
# together a shape, which reach no output as data.
SHAPES = {
    "basic_pitch_op15": 1,
    "magika_v3_3_op15": 20,
    "super_resolution_prepost_op18": 7,
    "tract_qlstm_scan_op10": 4,
    "upsample_tf2onnx_op12": 2,
}


def read(model):
    """The model without its weights, as costs are counted, and with its functions inlined."""
    content, _ = skeleton.cut_out((CORPUS / model["dir"] / "model.onnx").read_bytes())
    return onnx.ModelProto.FromString(content)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_operations_are_those_of_a_second_count(model, tmp_path):
    if model["name"] in UNCOUNTED:
        pytest.skip("the second count ends at a body, an operator or a shape that it does not know")
    cut = read(model)
    names = Walker(onnx.inliner.inline_local_functions(cut)).free_dimensions
    sizes = {name: 8 * (place + 1) for place, name in enumerate(names)}
    costs = Costs.read(costs_of(cut).to_json())
    path = CORPUS / model["dir"] / "model.onnx"
    second = counting.operations(onnx.load(str(path), load_external_data=False), sizes, {})
    if second is None and model["name"] not in NOT_COMPARED:
        run = measured(path, sizes, tmp_path)
        second = counting.operations(onnx.load(str(path), load_external_data=False), sizes, run)
    assert costs.is_exact
    assert costs.macs.at({name: sizes[name] for name in costs.symbols}) == second


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_parameters_are_those_of_a_second_count(model):
    """Values in attributes of ai.onnx.ml apart, which the second count does not look at."""
    state = scan.walk_of(read(model).SerializeToString())
    counted = parameters.count(state).parameters - state.attribute_weights.total()
    second = counting.stored_parameters(read(model))
    assert counted == second - SHAPES.get(model["name"], 0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_parameters_are_the_same_after_an_upgrade(model):
    path = CORPUS / model["dir"] / "model.onnx"
    before = onnx.load(str(path), load_external_data=False)
    for target in (20, 26):
        after = conversion.convert(before, target).model
        if after is not None:
            counts = [
                parameters.count(scan.walk_of(each.SerializeToString())).parameters
                for each in (before, after)
            ]
            assert counts[0] == counts[1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_nodes_have_the_parameters_of_the_model(model):
    """Each parameter belongs to one node, but those in attributes to none."""
    state = scan.walk_of(read(model).SerializeToString())
    nodes = Costs.read(costs_of(read(model)).to_json()).nodes
    whole = parameters.count(state).parameters - state.attribute_weights.total()
    assert sum(node.parameters for node in nodes) == whole
