"""The sample models and data sets a new hub starts with, and where their files lie.

Standard library only: the server reads names and paths here and never opens a model. Everything
but resnet50's model.onnx is in this package; that one file is taken from the installed `onnx`
package, found without importing it. scripts/samples made all of them.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DATA_SETS", "SAMPLES", "DataSet", "Sample", "dataset_files", "files"]

_ROOT = Path(__file__).resolve().parent
_RESNET50 = Path("backend", "test", "data", "light", "light_resnet50.onnx")


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set of the `zoo` namespace: the rows on which sample models were tested.

    `personal_data` says what the cards of these models say; `splits` is the path of the splits.
    """

    slug: str
    title: str
    description: str
    iri: str
    personal_data: str
    rows: int
    license: str = "CC-BY-4.0"
    source: str = "UCI Machine Learning Repository, as bundled with scikit-learn"

    @property
    def folder(self) -> Path:
        """Where its files and its splits lie."""
        return _ROOT / "datasets" / self.slug

    @property
    def splits(self) -> Path:
        """The description of its splits as YAML."""
        return self.folder / "splits.yaml"


DATA_SETS: tuple[DataSet, ...] = (
    DataSet(
        slug="digits",
        title="Optical Recognition of Handwritten Digits",
        description=(
            "Digits written by hand, as 8x8 counts of ink. The files here hold 360 of the 1797"
            " rows of its test part: those that the sample models never saw. Ink is divided by 16."
        ),
        iri="https://doi.org/10.24432/C50P49",
        personal_data="anonymised",
        rows=5620,
    ),
    DataSet(
        slug="wine",
        title="Wine",
        description=(
            "Chemical analyses of wines of three cultivars from one region of Italy. The files"
            " here hold 45 of the 178 rows: those that the sample model never saw."
        ),
        iri="https://doi.org/10.24432/C5PC7J",
        personal_data="no",
        rows=178,
    ),
    DataSet(
        slug="breast-cancer",
        title="Breast Cancer Wisconsin (Diagnostic)",
        description=(
            "Measurements of cell nuclei in tissue samples, with the diagnosis. The files here"
            " hold 143 of the 569 rows: those that the sample model never saw. Not for medical"
            " use. Whether a patient could be singled out has not been assessed."
        ),
        iri="https://doi.org/10.24432/C5DW2B",
        personal_data="unknown",
        rows=569,
    ),
)


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


def dataset_files(of: DataSet) -> dict[str, Path]:
    """Return the files of the version of a data set: path in the version to file on disk."""
    return {
        path.relative_to(of.folder).as_posix(): path
        for path in sorted(of.folder.rglob("*"))
        if path.is_file() and path != of.splits
    }


def _from_onnx_package(path: Path) -> Path:
    spec = importlib.util.find_spec("onnx")  # finds, does not import
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the onnx package is not installed; zoo/resnet50 comes from it")
    file = Path(spec.origin).parent / path
    if not file.is_file():
        raise FileNotFoundError(f"the installed onnx package does not ship {path.as_posix()}")
    return file
