"""breast-cancer-pipeline: imputation, scaling and logistic regression in one graph (skl2onnx).

Raw measurements go in, missing values as NaN, and a class name comes out: the whole pipeline is
in the file. The third test data set has missing values on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import data
import metrics
import model_files
import numpy as np
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

HYPERPARAMETERS = {
    "imputation": "median of the training rows",
    "scaling": "zero mean, unit variance",
    "regularisation": "L2",
    "C": 0.5,
    "solver": "lbfgs",
    "max_iter": 1000,
}
OPSETS = {"": 18, "ai.onnx.ml": 1}


def _with_gaps(x: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """Copy the first rows and blank about one value in five, the same ones every time."""
    gaps = x[:rows].copy()
    gaps[np.random.default_rng(data.SEED).random(gaps.shape) < 0.2] = np.nan
    return gaps


def build(folder: Path) -> None:
    """Train, export, measure and write everything but the card."""
    split = data.breast_cancer()
    names = np.array(split.classes, dtype=object)
    pipeline = make_pipeline(
        SimpleImputer(strategy="median"),
        StandardScaler(),
        LogisticRegression(C=HYPERPARAMETERS["C"], max_iter=HYPERPARAMETERS["max_iter"]),
    )
    training: dict[str, object] = {}
    with model_files.stopwatch(training):
        # names, not numbers: the graph then answers "malignant", which nobody can read backwards
        pipeline.fit(split.train_x, names[split.train_y].astype(str))
    model = convert_sklearn(
        pipeline,
        name="breast_cancer_pipeline",
        initial_types=[("features", FloatTensorType([None, len(split.features)]))],
        target_opset=OPSETS,
        options={id(pipeline): {"zipmap": False}},
    )
    model_files.clean(
        model,
        name="breast-cancer-pipeline",
        description="Imputer, scaler, logistic regression; a sample model of the ONNX Model Hub.",
    )
    model_files.name_batch(model)
    model_files.settle_opsets(model, OPSETS)
    facts = model_files.save_model(model, folder)
    order = [list(pipeline.classes_).index(name) for name in split.classes]
    for number, rows in enumerate((split.held_x[:1], split.held_x, _with_gaps(split.held_x, 16))):
        model_files.save_test_data(
            folder,
            number,
            [("features", rows)],
            [
                ("label", pipeline.predict(rows).astype(object)),
                ("probabilities", pipeline.predict_proba(rows).astype(np.float32)),
            ],
        )
    model_files.save_lines(folder / "labels.txt", [str(name) for name in pipeline.classes_])
    model_files.save_lines(folder / "features.txt", split.features)
    model_files.save_lines(folder / "held_out_labels.txt", [str(names[y]) for y in split.held_y])
    expected = pipeline.predict_proba(split.held_x)[:, order]
    malignant = split.classes.index("malignant")
    record = {
        "seed": data.SEED,
        "data": split.facts() | {"classes": list(split.classes)},
        "hyperparameters": HYPERPARAMETERS,
        "training": training,
        "metrics": metrics.classification(split.held_y, expected)
        | {"malignant": metrics.of_class(split.held_y, expected, malignant)},
        "expected_outputs": "scikit-learn, before the export",
        "tolerance": model_files.FLOAT_TOLERANCE,
        "model": facts,
    }
    model_files.save_record(folder, record, ["numpy", "onnx", "scikit-learn", "skl2onnx"])
