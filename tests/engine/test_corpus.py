"""Real models with known verdicts, where HUB_MODEL_CORPUS names a folder of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from runners.sandbox import Request

CORPUS = Path(os.environ.get("HUB_MODEL_CORPUS", "/nonexistent"))
MANIFEST = CORPUS / "manifest.json"
MODELS = json.loads(MANIFEST.read_text())["models"] if MANIFEST.is_file() else []
STAGES = {"checker": "check", "inference": "check_full", "load": "ort_1_31_1_cpu_load"}
# The one model that neither the checker nor the runtime accepts: it imports no operator set.
REJECTED = {"super_resolution_ir1_no_opset"}


@pytest.mark.skipif(not MODELS, reason="HUB_MODEL_CORPUS names no folder with a manifest.json")
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
    assert accepted == {stage: model[key] == "ok" for stage, key in STAGES.items()}
    assert report.outcome == ("failed" if model["name"] in REJECTED else "passed")
    described = sandbox.run(Request("describe", "model.onnx", files, model["sha256"]))
    assert described.outcome == "passed"
    assert described.facts["ir_version"] == model["ir_version"]
    assert described.facts["nodes"]["total"] >= 1
