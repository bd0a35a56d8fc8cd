"""Writes the data sets of the hub from the held-out rows that travel with the sample models.

Every file is a pure function of `test_data_set_1/input_0.pb` and `held_out_labels.txt` of one
sample, so its digest stays the same for as long as they do: nothing is compressed, and a float32
is written in the fewest digits that read back as the same float32.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

SPLITS = "splits.yaml"


@dataclass(frozen=True)
class _DataSet:
    """The held-out rows of a sample as a file for a reader, with the name of its target.

    A table has a column for each line of features.txt, an archive one array for the model's input.
    """

    slug: str
    sample: str
    reader: str
    target: str


DATA_SETS = (
    _DataSet("digits", "digits-cnn", "npz", "digit"),
    _DataSet("wine", "wine-gbt", "csv", "cultivar"),
    _DataSet("breast-cancer", "breast-cancer-pipeline", "csv", "diagnosis"),
)


def write(samples: Path, target: Path) -> None:
    """Write a folder for each data set below ``target``, from the samples in ``samples``."""
    for dataset in DATA_SETS:
        source, folder = samples / dataset.sample, target / dataset.slug
        folder.mkdir(parents=True, exist_ok=True)
        rows = onnx.TensorProto()
        rows.ParseFromString((source / "test_data_set_1" / "input_0.pb").read_bytes())
        values, truth = numpy_helper.to_array(rows), _lines(source / "held_out_labels.txt")
        labels = _lines(source / "labels.txt")
        if dataset.reader == "csv":
            columns = _lines(source / "features.txt")
            (folder / "test.csv").write_bytes(_csv(values, columns, truth, dataset.target))
        else:
            columns = [rows.name]
            numbers = np.array([int(text) for text in truth], np.int64)
            _save(folder / "test.npz", {rows.name: values, dataset.target: numbers})
        split = _split(dataset, rows.name, columns, labels)
        (folder / SPLITS).write_text(split, encoding="utf-8")


def _save(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write what `numpy.savez` writes, in the bytes that every release of Python gives it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in arrays.items():
            content = io.BytesIO()
            np.save(content, values)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _csv(values: np.ndarray[Any, Any], columns: list[str], truth: list[str], target: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, target])
    for row, label in zip(values, truth, strict=True):
        cells = [str(value) for value in row]
        if [np.float32(float(cell)) for cell in cells] != list(row):
            raise ValueError(f"a value of {target} does not survive its text")
        writer.writerow([*cells, label])
    return text.getvalue().encode()


def _split(of: _DataSet, name: str, columns: list[str], labels: list[str]) -> str:
    """The one split as YAML, short lists on one line."""
    return (
        "- name: test\n"
        "  task: classification\n"
        f"  reader: {of.reader}\n"
        f"  files: [test.{of.reader}]\n"
        "  inputs:\n"
        f"    - name: {name}\n"
        f"      columns:{_items(columns)}\n"
        "  target:\n"
        f"    column: {of.target}\n"
        f"    labels: [{', '.join(map(json.dumps, labels))}]\n"
    )


def _items(texts: list[str]) -> str:
    if len(texts) == 1:
        return f" [{json.dumps(texts[0])}]"
    return "".join(f"\n        - {json.dumps(text)}" for text in texts)
