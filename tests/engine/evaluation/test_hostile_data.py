"""Data of strangers: missing values, bombs, archives of objects, tables, broken pictures."""

from __future__ import annotations

import importlib.util
import io
import zipfile

import numpy as np
import pytest
from onnx import helper
from PIL import Image

from tests.engine.evaluation import tiny
from tests.engine.evaluation.tiny import FLOAT, INT64

NPZ = {"reader": "npz", "files": ["t.npz"], "columns": ["x"]}


def test_missing_values_go_to_floats_as_nan(evaluate):
    nodes = [
        helper.make_node("IsNaN", ["x"], ["gone"]),
        helper.make_node("Where", ["gone", "nine", "x"], ["filled"]),
        helper.make_node("Softmax", ["filled"], ["scores"]),
    ]
    model = tiny.model(
        nodes,
        [("x", FLOAT, ["n", 3])],
        [("scores", FLOAT, ["n", 3])],
        [("nine", np.array([9], np.float32))],
    )
    report = evaluate(model, tiny.csv([("", 1, 1, 0), (1, "NA", 2, 1)]))
    accuracy = next(row for row in report.measures if row["metric"] == "accuracy")
    assert accuracy["value"] == 1.0


def test_missing_values_have_no_place_in_integers(refused):
    model = tiny.model(
        [helper.make_node("Cast", ["x"], ["scores"], to=FLOAT)],
        [("x", INT64, ["n", 3])],
        [("scores", FLOAT, ["n", 3])],
    )
    code, words = refused(model, tiny.csv([("", 1, 1, 0), (1, 2, 3, 2)]))
    assert code == "split-unfit"
    assert words.endswith("which cannot be missing; missing values in the split: 1.")
    code, words = refused(model, tiny.csv([(0.5, 1, 1, 0), (1, 2, 3, 2)]))
    assert (code, "not of that type" in words) == ("split-unfit", True)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (tiny.csv([(1, 2, 3, "")]), "Row 1 has no target."),
        (tiny.csv([(1, "two", 3, 0)]), "'two' in row 1 of the column 'b' is no number."),
        (tiny.csv([(1, 2, 3)]), "Row 1 of test.csv has 3 fields; the header has 4."),
        (tiny.csv([], header="a,b,c"), "test.csv has no column 'y'."),
        (tiny.csv([], header="a,b,c,y"), "The split has no rows."),
        (tiny.csv([], header="a,a,b,c,y"), "test.csv has several columns 'a'."),
        (b"\xff\xfe", "test.csv is not a readable CSV file"),
        (b"", "test.csv has no column"),
        (b'a,b,c,y\n"1,2,3,0', "test.csv is not a readable CSV file"),
    ],
)
def test_tables_that_cannot_be_read(refused, data, message):
    code, words = refused(tiny.scores(), data)
    assert code == "data-unfit"
    assert words.startswith(message)


def test_a_million_columns_are_refused(refused):
    header = ",".join(f"c{k}" for k in range(1_000_000))
    assert refused(tiny.scores(), f"{header}\n".encode()) == (
        "data-unfit",
        "test.csv has 1,000,000 columns; at most 10,000 are read.",
    )
    _code, words = refused(tiny.scores(), tiny.csv([range(1_000_000)]))
    assert words == "Row 1 of test.csv has 1,000,000 fields; the header has 4."


def test_a_field_of_two_megabytes_is_refused(refused):
    code, words = refused(tiny.scores(), tiny.csv([("1" * (2 << 20), 2, 3, 0)]))
    assert (code, "field larger than field limit" in words) == ("data-unfit", True)


def test_arrays_of_objects_are_never_unpickled(refused):
    data = tiny.npz(x=np.array([{"a": 1}, None], dtype=object), y=np.array([0, 1]))
    code, words = refused(tiny.scores(), {"t.npz": data}, tiny.split(**NPZ))
    assert code == "data-unfit"
    assert "Object arrays cannot be loaded" in words


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3))}, "t.npz has no array 'y'."),
        (
            {"x": np.zeros((2, 3)), "y": np.zeros(3)},
            "The arrays of t.npz do not have one number of rows.",
        ),
        ({"x": np.zeros((0, 3)), "y": np.zeros(0)}, "The split has no rows."),
        ({"x": np.zeros((2, 3), complex), "y": np.zeros(2)}, "The array 'x' of t.npz holds"),
        ({"x": np.zeros((2, 3)), "y": np.array([0.5, 1])}, "The targets cannot be read"),
    ],
)
def test_arrays_that_do_not_fit(refused, arrays, message):
    code, words = refused(tiny.scores(), {"t.npz": tiny.npz(**arrays)}, tiny.split(**NPZ))
    assert code == "data-unfit"
    assert words.startswith(message)


def test_zip_bombs_are_refused(refused):
    bomb = tiny.archive({"x.npy": bytes(64 << 20), "y.npy": b""}, zipfile.ZIP_DEFLATED)
    assert refused(tiny.scores(), {"t.npz": bomb}, tiny.split(**NPZ)) == (
        "data-unfit",
        "'x.npy' in t.npz unpacks to more than 200 times its size.",
    )


def test_an_archive_that_claims_other_sizes_is_refused(refused):
    whole = bytearray(tiny.npz(x=np.zeros((2, 3)), y=np.array([0, 1])))
    at = whole.rindex(b"PK\x01\x02")
    whole[at + 24 : at + 28] = (4).to_bytes(4, "little")
    code, _ = refused(tiny.scores(), {"t.npz": bytes(whole)}, tiny.split(**NPZ))
    assert code == "data-unfit"
    code, words = refused(tiny.scores(), {"t.npz": b"no archive"}, tiny.split(**NPZ))
    assert words.startswith("t.npz is not a readable ZIP archive")


def picture(level):
    file = io.BytesIO()
    Image.new("L", (4, 4), level).save(file, "PNG")
    return file.getvalue()


IMAGES = {
    "image": {
        "channels": "grey",
        "resize": {"width": 2, "height": 2, "mode": "stretch", "interpolation": "box"},
        "scale": "0-1",
    }
}


def bright(shape):
    """Tells dark pictures (class 0) from bright ones (class 1) by their mean."""
    nodes = [
        helper.make_node("ReduceMean", ["picture"], ["mean"], axes=[-3, -2, -1], keepdims=0),
        helper.make_node("Unsqueeze", ["mean", "last"], ["light"]),
        helper.make_node("Sub", ["one", "light"], ["dark"]),
        helper.make_node("Concat", ["dark", "light"], ["shares"], axis=-1),
    ]
    return tiny.model(
        nodes,
        [("picture", FLOAT, shape)],
        [("shares", FLOAT, [*shape[:-3], 2])],
        [("last", np.array([-1])), ("one", np.array([1], np.float32))],
    )


@pytest.mark.parametrize("shape", [["n", 1, 2, 2], [2, 1, 2, 2], [1, 2, 2]])
def test_pictures_are_decoded_as_the_card_declares(evaluate, shape):
    files = {
        "set/day/a.png": picture(250),
        "set/day/b.png": picture(90),
        "set/night/a.png": picture(3),
        "__MACOSX/set/._a.png": b"",
        "set/.DS_Store": b"",
    }
    split = tiny.split(
        reader="images",
        files=["t.zip"],
        inputs=[{"name": "picture", "columns": []}],
        labels=["night", "day"],
    )
    report = evaluate(
        bright(shape), {"t.zip": tiny.archive(files)}, split, inputs={"picture": IMAGES}
    )
    assert report.outcome == "passed", report.findings
    assert report.measures[0]["value"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("files", "declared", "message"),
    [
        ({"day/a.png": b"no picture"}, IMAGES, "The file is not one of PNG"),
        ({"a.png": picture(1)}, IMAGES, "'a.png' in t.zip lies in no folder of a class."),
        ({"day/a.txt": b""}, IMAGES, "'day/a.txt' in t.zip is no picture."),
        ({"dusk/a.png": picture(1)}, IMAGES, "The targets cannot be read: 'dusk' is not among"),
        ({}, IMAGES, "The split has no rows."),
        ({"day/a.png": picture(1)}, {}, "The card declares no preprocessing of pictures"),
        (
            {"day/a.png": picture(1)},
            {"image": {"channels": "grey", "polarity": "light-on-dark"}},
            (
                "The preprocessing of pictures for the input 'picture' is incomplete: scale, mode, "
                "interpolation, polarity cannot be known"
            ),
        ),
    ],
)
def test_pictures_that_cannot_be_used(refused, files, declared, message):
    split = tiny.split(
        reader="images",
        files=["t.zip"],
        inputs=[{"name": "picture", "columns": []}],
        labels=["night", "day"],
    )
    _, words = refused(
        bright(["n", 1, 2, 2]),
        {"t.zip": tiny.archive(files)},
        split,
        inputs={"picture": declared},
    )
    assert words.startswith(message)


@pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is not None, reason="this environment has pyarrow"
)
def test_parquet_needs_pyarrow(refused):
    split = tiny.split(reader="parquet", files=["t.parquet"])
    code, words = refused(tiny.scores(), {"t.parquet": b"PAR1"}, split)
    assert code == "data-unfit"
    assert words.startswith("This worker cannot read Parquet files because pyarrow is not")


def test_parquet_is_read_where_pyarrow_is(evaluate, refused):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = dict(zip("abcy", zip(*tiny.ROWS, strict=True), strict=True))
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), file)
    split = tiny.split(reader="parquet", files=["t.parquet"])
    report = evaluate(tiny.scores(), {"t.parquet": file.getvalue()}, split)
    assert report.outcome == "passed", report.findings
    assert report.measures[0]["value"] == 0.8
    code, words = refused(tiny.scores(), {"t.parquet": b"PAR1 no table PAR1"}, split)
    assert (code, words.startswith("t.parquet is not a readable Parquet")) == ("data-unfit", True)
