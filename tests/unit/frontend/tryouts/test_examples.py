"""What a version supplies for a first try, and the code of what was given."""

from __future__ import annotations

import ast
import json
import sys
import types

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from frontend.pages.tryouts import input_form, snippets
from frontend.pages.tryouts import page as tryout_page
from registry.versions import selectors
from runners.models import Job
from tests import factories, proven, shared
from tests.unit.frontend.conftest import Reader

pytestmark = [pytest.mark.capability("tryouts"), pytest.mark.django_db]
TRY = "/models/ada/wines/v/1/try"
ROWS = {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 3]}
SCORES = {"name": "y", "type": "tensor", "dtype": "float32", "shape": ["N", 2]}
CARD = """---
license: mit
inputs:
  x: {example: samples/one.npy}
---
# Wines
"""
CONTENTS = {
    "model.onnx": b"x",
    "features.txt": b"alcohol\nash\nhue\n",
    "labels.txt": b"red\nwhite\n",
    "samples/one.npy": b"0",
    **{
        f"test_data_set_{number}/{name}_0.pb": name.encode()
        for number in (0, 10, 2)
        for name in ("input", "output")
    },
    "test_data_set_0/input_7.pb": b"no such input",
    "elsewhere/test_data_set_3/input_0.pb": b"of another model",
}


@shared.rows
def start():
    ada = factories.somebody("ada")
    facts = {"inputs": [ROWS], "outputs": [SCORES]}
    model = factories.model(ada, "wines")
    return factories.version(ada, model, CONTENTS, facts=facts, card=CARD)


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def model(ada, version):
    whole = selectors.whole_version(ada, "ada", "wines", 1)
    return tryout_page.read(whole, version.variants.get())


def test_examples_are_those_of_the_card_and_the_test_data(model):
    assert [(one.title, one.inputs, one.outputs) for one in model.examples] == [
        ("card", ((0, "samples/one.npy"),), ()),
        *(
            (
                f"test data {number}",
                ((0, f"test_data_set_{number}/input_0.pb"),),
                ((0, f"test_data_set_{number}/output_0.pb"),),
            )
            for number in (0, 2, 10)
        ),
    ]


def test_a_table_has_its_features_as_fields(model, guest):
    assert model.inputs[0].cells == [(1, "alcohol"), (2, "ash"), (3, "hue")]
    page = guest.page(TRY)
    assert 'name="cell-0-3"' in page
    assert "test_data_set_10/input_0.pb" in page


def test_the_camera_is_allowed_on_this_page_alone(version, guest, graphs):
    assert "camera=(self)" in guest.get(TRY)["Permissions-Policy"]
    assert "camera=()" in guest.get("/models/ada/wines")["Permissions-Policy"]


def test_fields_become_a_row_for_the_server(version):
    bob = Reader()
    bob.force_login(factories.somebody("bob"))
    fields = {"cell-0-1": "13.5", "cell-0-2": "2", "cell-0-3": "x"}
    refused = bob.post(f"{TRY}/ask", fields, HTTP_ACCEPT="application/json")
    assert (refused.status_code, refused.json()["detail"]) == (400, "Enter a number for hue.")
    bob.post(f"{TRY}/ask", fields | {"cell-0-3": "1"}, HTTP_ACCEPT="application/json")
    (row,) = Job.objects.get(kind="run").input["inputs"]
    assert row["format"] == "json"


def code(guest, language="python", **fields):
    return guest.get(f"{TRY}/code", fields | {"language": language}).content.decode()


def test_code_has_the_values_that_were_given(version, guest):
    given = {"kind-0": "table", "value-0": "[[13.5, null, 1]]"}
    python = code(guest, **given)
    made = {"np": np}
    exec(python.partition("onnxruntime\n")[2].partition("model = ")[0], made)  # noqa: S102
    assert made["tensor"].dtype == np.float32
    np.testing.assert_array_equal(made["tensor"], np.float32([[13.5, np.nan, 1]]))
    javascript = code(guest, "javascript", **given)
    assert "Float32Array.from([13.5, NaN, 1])" in javascript
    assert 'new ort.Tensor("float32", values, [1, 3])' in javascript
    assert "session.run({ x: tensor })" in javascript
    assert "/models/ada/wines/v/1/files/model.onnx" in javascript


def test_code_reads_the_row_of_an_example(version, guest, tmp_path, monkeypatch):
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "test_data_set_0").mkdir()
    onnx.save_tensor(numpy_helper.from_array(rows), tmp_path / "test_data_set_0" / "input_0.pb")
    stub = types.ModuleType("hub")
    stub.download = lambda _: tmp_path
    monkeypatch.setitem(sys.modules, "hub", stub)
    monkeypatch.setitem(sys.modules, "onnxruntime", types.ModuleType("onnxruntime"))
    example = {"example-0": "test_data_set_0/input_0.pb", "row-0": "1", "kind-0": "tensor"}
    made = {}
    exec(code(guest, **example).partition("model = ")[0], made)  # noqa: S102
    np.testing.assert_array_equal(made["tensor"], rows[1:2])
    # A path that is no example of this version goes into no code.
    assert "secret" not in code(guest, **example | {"example-0": "secret'); import os"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[[1, 2.5, null]]", [[1, 2.5, None]]),
        ('["it\'s", "\\n"]', ["it's", "\n"]),
        ("[[[[[[[[1]]]]]]]]", None),
        ('{"a": 1}', None),
        ("[1", None),
        (json.dumps([0.125] * 1000), None),
        ("", None),
    ],
)
def test_a_value_for_code_is_plain_and_short(text, value):
    assert input_form.value_of(text) == value


def test_texts_cannot_leave_their_quotes():
    words = ['"); import os', "'''", "a\\", "\N{LINE SEPARATOR}"]
    assert ast.literal_eval(snippets.literal(words)) == words


def test_examples_count_as_checked_once_their_run_has_passed(version, guest):
    assert "examples checked" not in guest.page(TRY)
    proven.conformance(version, [proven.measure("bundled")])
    assert "examples checked on publication" in guest.page(TRY)
    proven.conformance(version, [proven.measure("bundled", "failed", blames="runtime")])
    assert "examples checked" not in guest.page(TRY)
