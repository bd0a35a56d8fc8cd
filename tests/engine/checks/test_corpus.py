"""Real models with known verdicts, where HUB_MODEL_CORPUS names a folder of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hub.protocol.proofs import Proof
from hub.protocol.runtime_builds import PORTABLE
from runners.sandbox import Limits, Request

CORPUS = Path(os.environ.get("HUB_MODEL_CORPUS", "/nonexistent"))
MANIFEST = CORPUS / "manifest.json"
MODELS = json.loads(MANIFEST.read_text())["models"] if MANIFEST.is_file() else []
STAGES = {"checker": "check", "inference": "check_full", "load": "ort_1_31_1_cpu_load"}
# Opsets that the runtime loads since the release after that of the manifest.
LOADED_SINCE = {27, 28}
# The one model that neither the checker nor the runtime accepts: it imports no operator set.
REJECTED = {"super_resolution_ir1_no_opset"}

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not MODELS, reason="HUB_MODEL_CORPUS names no folder with a manifest.json"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_verdicts_are_those_of_the_manifest(sandbox, model):
    folder = CORPUS / model["dir"]
    files = {
        path.relative_to(folder).as_posix(): str(path)
        for path in folder.rglob("*")
        if path.is_file()
    }
    report = sandbox.run(Request("check", "model.onnx", files, model["sha256"]))
    verdicts = report.facts["verdicts"]
    assert verdicts["scan"]["verdict"] == "ok"
    accepted = {stage: verdicts[stage]["verdict"] == "ok" for stage in STAGES}
    known = {stage: model[key] == "ok" for stage, key in STAGES.items()}
    known["load"] |= model["opsets"].get("ai.onnx", 0) in LOADED_SINCE
    assert accepted == known
    assert report.outcome == ("failed" if model["name"] in REJECTED else "passed")
    described = sandbox.run(Request("describe", "model.onnx", files, model["sha256"]))
    assert described.outcome == "passed"
    assert described.facts["ir_version"] == model["ir_version"]
    assert described.facts["nodes"]["total"] >= 1


# Nothing to do, nothing that runs, a node in the way, or outputs that no input moves.
NO_UPGRADE = {
    "bert_tokenizer_contrib_op14",
    "coreml_onehot_ml1",
    "espcn_quant_brevitas_op11",
    "super_resolution_ir1_no_opset",
    "super_resolution_prepost_op18",
    "svm_ai_onnx_domain_op18",
    "test_gradient_of_add_and_mul",
}
# Their outputs vary on swept inputs alone, which a slow machine leaves out.
SWEPT = {"light_resnet50", "light_squeezenet"}
# Not loaded by their opset unless equal runs are enough; why, at one of both targets or at both.
NOT_CERTIFIED = {
    # ONNX Runtime has no kernel of DequantizeLinear of opset 28 to search it with.
    "int4_dq_matmul": "sampled",
    # ONNX Runtime runs no operator of before opset 7, so the reference alone runs both forms.
    "mnist_softmax_op4": "sampled",
    "test_BatchNorm2d_eval": "sampled",
    "test_PReLU_2d_multiparam": "sampled",
    "test_operator_addmm": "sampled",
    # Equal up to rounding alone.
    "attention_opset23_kv_cache": "sampled",
    "light_densenet121": "sampled",
    "light_resnet50": "sampled",
    "opset28_latest": "sampled",
    "squeezenet_fp16_op7": "sampled",
    # No type can be inferred behind an operator of another domain, or a removed one.
    "sk_svc_rbf": "sampled",
    "style_candy_op7_crop": "sampled",
    # Too few of the sizes that are tried meet the hidden size of an LSTM.
    "tract_bidi_lstm_op9": "sampled",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_honest_upgrades_keep_their_proof(sandbox, model):
    folder = CORPUS / model["dir"]
    files = {
        path.relative_to(folder).as_posix(): str(path)
        for path in folder.rglob("*")
        if path.is_file()
    }
    limits = Limits(file_bytes=1 << 28, job_seconds=600)
    options = {"target": None, "portable": PORTABLE.opset}
    report = sandbox.run(Request("upgrade", "model.onnx", files, model["sha256"], options, limits))
    if model["name"] in NO_UPGRADE:
        assert not report.outputs
        return
    variants = report.facts["variants"]
    if model["name"] in SWEPT and not variants:
        return
    assert min(variant["target"] for variant in variants) <= PORTABLE.opset
    for variant in variants:
        proof = Proof.from_json(variant["proof"])
        accepted = {"certified", "schema", NOT_CERTIFIED.get(model["name"])}
        assert proof.strength in accepted, proof.sentence
