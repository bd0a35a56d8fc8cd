"""digits-cnn-int8: digits-cnn after static quantisation (QDQ, int8) with ONNX Runtime.

Calibration sees training rows only. The expected outputs come from the ONNX reference evaluator,
so they do not depend on the int8 instructions of the machine that made them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import data
import metrics
import model_files
import numpy as np
import onnx
import onnxruntime
from digits_cnn import IMAGE, denote_image
from onnx.reference import ReferenceEvaluator
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

if TYPE_CHECKING:
    from numpy.typing import NDArray

BASE = "digits-cnn"
CALIBRATION_ROWS = 256
OPSET, IR_VERSION = 19, 9
HYPERPARAMETERS = {
    "format": "QDQ",
    "activations": "int8, one scale per tensor",
    "weights": "int8 in 7 bits, one scale per output channel",
    "calibration": "min and max",
    "calibration_rows": CALIBRATION_ROWS,
}


class _Rows(CalibrationDataReader):
    def __init__(self, pixels: NDArray[np.float32]) -> None:
        self._batches = iter(np.array_split(pixels, len(pixels) // 32))

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        batch = next(self._batches, None)
        return None if batch is None else {"pixels": batch}


def _quantise(base: Path, pixels: NDArray[np.float32]) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as scratch:
        prepared, target = Path(scratch) / "prepared.onnx", Path(scratch) / "int8.onnx"
        # shapes only: the float graph is already small, and stays comparable node by node
        quant_pre_process(base, prepared, skip_optimization=True, skip_symbolic_shape=True)
        quantize_static(
            prepared,
            target,
            _Rows(pixels[:CALIBRATION_ROWS]),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            # Processors without VNNI add products of bytes in 16 bits: 7 bits do not overflow them.
            reduce_range=True,
            calibrate_method=CalibrationMethod.MinMax,
            op_types_to_quantize=["Conv", "Gemm", "MatMul", "MaxPool", "Reshape", "Relu"],
        )
        model = onnx.load(target)
    # The reference evaluator knows the quantisation operators from opset 19 on; for int8 with
    # float32 scales they mean the same before and after.
    model.opset_import[0].version, model.ir_version = OPSET, IR_VERSION
    model_files.clean(
        model,
        name="digits-cnn-int8",
        description="digits-cnn quantised to int8; a sample model of the ONNX Model Hub.",
    )
    model_files.set_properties(model, IMAGE)
    denote_image(model)
    return model


def _reference(model: onnx.ModelProto, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    return ReferenceEvaluator(model).run(None, {"pixels": pixels})[0]


def build(folder: Path) -> None:
    """Quantise the digits-cnn beside `folder`, measure it, write everything but the card."""
    split = data.digits()
    base = folder.parent / BASE
    base_record = json.loads((base / model_files.RECORD).read_text(encoding="utf-8"))
    training: dict[str, object] = {}
    with model_files.stopwatch(training, threads="as ONNX Runtime chooses"):
        model = _quantise(base / model_files.MODEL, split.train_x)
    facts = model_files.save_model(model, folder)
    expected = _reference(model, split.held_x)
    session = onnxruntime.InferenceSession(
        folder / model_files.MODEL, providers=["CPUExecutionProvider"]
    )
    measured = session.run(None, {"pixels": split.held_x})[0]
    pixels, name = split.held_x, "probabilities"
    model_files.save_test_data(folder, 0, [("pixels", pixels[:1])], [(name, expected[:1])])
    model_files.save_test_data(folder, 1, [("pixels", pixels)], [(name, expected)])
    model_files.save_lines(folder / "labels.txt", split.classes)
    model_files.save_lines(folder / "held_out_labels.txt", [str(y) for y in split.held_y])
    result = metrics.classification(split.held_y, measured)
    loss = base_record["metrics"]["accuracy"] - result["accuracy"]
    record = {
        "seed": data.SEED,
        "base_model": {
            "name": BASE,
            "sha256": base_record["model"]["sha256"],
            "bytes": base_record["model"]["bytes"],
            "accuracy": base_record["metrics"]["accuracy"],
        },
        "data": split.facts(),
        "hyperparameters": HYPERPARAMETERS,
        "training": training,
        "metrics": result | {"accuracy_lost": round(loss, 4)},
        "expected_outputs": "ONNX reference evaluator",
        "tolerance": model_files.QUANTISED_TOLERANCE,
        "model": facts,
    }
    model_files.save_record(folder, record, ["numpy", "onnx", "onnxruntime", "scikit-learn"])
