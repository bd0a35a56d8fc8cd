"""Known verdicts on real models, where HUB_MODEL_CORPUS names a folder of them."""

from __future__ import annotations

import pytest

from runners.sandbox import Limits, Request
from tests.engine.checks import test_corpus
from tests.engine.checks.test_corpus import CORPUS

LIMITS = Limits(file_bytes=1 << 28, job_seconds=300)

pytestmark = test_corpus.pytestmark


@pytest.fixture
def judge(sandbox):
    def run(name):
        folder = CORPUS / name
        files = {
            path.relative_to(folder).as_posix(): str(path)
            for path in folder.rglob("*")
            if path.is_file()
        }
        options = {"runtime": "onnxruntime"}
        report = sandbox.run(Request("conformance", "model.onnx", files, "0" * 64, options, LIMITS))
        return {one["check"]: one for one in report.measures}

    return run


def outcomes(measures):
    return [one["outcome"] for one in measures.values()]


def test_a_model_that_ships_wrong_data(judge):
    bundled = judge("mnist_convinteger_op10")["bundled"]
    assert (bundled["outcome"], bundled["blames"]) == ("cantTell", "data")
    (row,) = bundled["outputs"]
    assert row["max_abs"] == pytest.approx(6562, abs=1)
    assert row["cosine"] == pytest.approx(0.58, abs=0.01)


def test_a_model_on_which_the_reference_is_wrong(judge):
    measures = judge("sk_svc_rbf")
    assert measures["bundled"]["outcome"] == "passed"
    reference = measures["reference"]
    assert (reference["outcome"], reference["blames"]) == ("cantTell", "reference")
    assert reference["node"]["op"] == "ai.onnx.ml.SVMClassifier"
    assert reference["evidence"] == "diverging-SVMClassifier.zip"


def test_a_model_that_optimisation_makes_less_exact(judge):
    optimisation = judge("int4_dq_matmul")["optimisation"]
    assert optimisation["outcome"] == "passed"
    assert "8-bit step" in optimisation["reason"]
    assert max(row["max_abs"] for row in optimisation["outputs"]) > 1e-3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nondeterministic_random", ["inapplicable"] * 4),
        ("custom_domain_unknown_op", ["inapplicable"] * 4),
        ("sklearn_random_forest_zipmap_op9", ["untested", "passed", "passed", "passed"]),
        ("external_data_one_file", ["passed"] * 4),
        ("silero_vad_16k_op15", ["passed"] * 4),
        ("fp8_dq_matmul", ["passed"] * 4),
    ],
)
def test_other_kinds(judge, name, expected):
    assert outcomes(judge(name)) == expected
