"""wine-gbt: gradient-boosted trees for the wine data, made with scikit-learn and skl2onnx.

The probabilities leave the graph through ZipMap, as one map of class to probability per row: the
form that many tabular models in the wild have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import data
import metrics
import model_files
import numpy as np
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier

if TYPE_CHECKING:
    from pathlib import Path

HYPERPARAMETERS = {
    "n_estimators": 60,
    "learning_rate": 0.1,
    "max_depth": 2,
    "subsample": 0.8,
    "max_features": 4,
}
OPSETS = {"": 18, "ai.onnx.ml": 1}


def build(folder: Path) -> None:
    """Train, export, measure and write everything but the card."""
    split = data.wine()
    trees = GradientBoostingClassifier(random_state=data.SEED, **HYPERPARAMETERS)
    training: dict[str, object] = {}
    with model_files.stopwatch(training):
        trees.fit(split.train_x, split.train_y)
    model = convert_sklearn(
        trees,
        name="wine_gbt",
        initial_types=[("features", FloatTensorType([None, len(split.features)]))],
        target_opset=OPSETS,
        options={id(trees): {"zipmap": True}},
    )
    model_files.clean(
        model,
        name="wine-gbt",
        description="Gradient-boosted trees for wines; a sample model of the ONNX Model Hub.",
    )
    model_files.name_batch(model)
    model_files.settle_opsets(model, OPSETS)
    facts = model_files.save_model(model, folder)
    facts["trees"] = int(trees.estimators_.size)
    expected = trees.predict_proba(split.held_x)
    labels = trees.predict(split.held_x).astype(np.int64)
    maps = [dict(enumerate(row)) for row in expected.astype(np.float32)]
    for number, rows in enumerate((1, len(labels))):
        model_files.save_test_data(
            folder,
            number,
            [("features", split.held_x[:rows])],
            [("output_label", labels[:rows]), ("output_probability", maps[:rows])],
        )
    model_files.save_lines(folder / "labels.txt", split.classes)
    model_files.save_lines(folder / "features.txt", split.features)
    model_files.save_lines(folder / "held_out_labels.txt", [str(y) for y in split.held_y])
    record = {
        "seed": data.SEED,
        "data": split.facts(),
        "hyperparameters": HYPERPARAMETERS,
        "training": training,
        "metrics": metrics.classification(split.held_y, expected),
        "expected_outputs": "scikit-learn, before the export",
        "tolerance": model_files.FLOAT_TOLERANCE,
        "model": facts,
    }
    model_files.save_record(folder, record, ["numpy", "onnx", "scikit-learn", "skl2onnx"])
