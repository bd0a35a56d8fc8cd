"""The sample models a new hub starts with, and where their files lie.

Standard library only: the server reads names and paths here and never opens a model. Everything
but resnet50's model.onnx is in this package; that one file is taken from the installed `onnx`
package, found without importing it.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SAMPLES", "Sample", "files"]

_ROOT = Path(__file__).resolve().parent
_RESNET50 = Path("backend", "test", "data", "light", "light_resnet50.onnx")


@dataclass(frozen=True, slots=True)
class Sample:
    """One model of the `zoo` namespace; `license` is an SPDX id, `task` a pipeline tag."""

    name: str
    folder: Path
    summary: str
    task: str
    keywords: tuple[str, ...]
    license: str


SAMPLES: tuple[Sample, ...] = (
    Sample(
        name="resnet50",
        folder=_ROOT / "resnet50",
        summary=(
            "The graph of ResNet-50 with constant weights, for tests of loading and speed;"
            " its predictions mean nothing."
        ),
        task="image-classification",
        keywords=(
            "sample",
            "resnet",
            "topology-only",
            "constant-weights",
            "benchmark",
            "float32",
        ),
        license="Apache-2.0",
    ),
    Sample(
        name="digits-cnn",
        folder=_ROOT / "digits-cnn",
        summary="Reads one handwritten digit from an 8x8 picture; small enough to learn with.",
        task="image-classification",
        keywords=("sample", "digits", "cnn", "image", "float32"),
        license="Apache-2.0",
    ),
    Sample(
        name="digits-cnn-int8",
        folder=_ROOT / "digits-cnn-int8",
        summary="digits-cnn with 8-bit weights and activations, a third of the size.",
        task="image-classification",
        keywords=("sample", "digits", "cnn", "image", "int8", "quantized"),
        license="Apache-2.0",
    ),
    Sample(
        name="wine-gbt",
        folder=_ROOT / "wine-gbt",
        summary="Names the cultivar of an Italian wine from 13 chemical measurements.",
        task="tabular-classification",
        keywords=("sample", "wine", "tabular", "gradient-boosting", "zipmap", "float32"),
        license="Apache-2.0",
    ),
    Sample(
        name="breast-cancer-pipeline",
        folder=_ROOT / "breast-cancer-pipeline",
        summary=(
            "A whole tabular pipeline in one graph, from raw values with gaps to a class name."
            " Not for medical use."
        ),
        task="tabular-classification",
        keywords=(
            "sample",
            "tabular",
            "pipeline",
            "preprocessing-in-graph",
            "logistic-regression",
            "float32",
        ),
        license="Apache-2.0",
    ),
)


def files(sample: Sample) -> dict[str, Path]:
    """Return the files of a version of `sample`: path in the version to file on disk, sorted.

    FileNotFoundError when the `onnx` package is not installed or no longer ships the graph that
    resnet50 is made of.
    """
    paths = {
        path.relative_to(sample.folder).as_posix(): path
        for path in sorted(sample.folder.rglob("*"))
        if path.is_file()
    }
    if sample.name == "resnet50":
        paths["model.onnx"] = _from_onnx_package(_RESNET50)
    return dict(sorted(paths.items()))


def _from_onnx_package(path: Path) -> Path:
    spec = importlib.util.find_spec("onnx")  # finds, does not import
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the onnx package is not installed; zoo/resnet50 comes from it")
    file = Path(spec.origin).parent / path
    if not file.is_file():
        raise FileNotFoundError(f"the installed onnx package does not ship {path.as_posix()}")
    return file
