"""Splits of a data set: what is read, and what is refused with which pointer."""

from __future__ import annotations

import pytest

from hub.protocol import problems, splits

PATHS = frozenset({"test.csv", "digits.npz", "pictures.zip"})
TABLE = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["test.csv"],
    "inputs": [{"name": "features", "columns": ["a", "b"]}],
    "target": {"column": "kind", "labels": ["x", "y"]},
}


def test_a_split_is_read_and_written_as_it_was():
    (split,) = splits.parse([TABLE], PATHS)
    assert split.inputs == (splits.SplitInput("features", ("a", "b")),)
    assert split.target == splits.Target("kind", ("x", "y"))
    assert split.document() == TABLE
    assert splits.read_stored([split.document()]) == (split,)


def test_a_folder_of_pictures_has_neither_columns_nor_a_column_of_targets():
    document = {**TABLE, "reader": "images", "files": ["pictures.zip"], "target": None,
                "inputs": [{"name": "x"}]}  # fmt: skip
    (split,) = splits.parse([document], PATHS)
    assert split.target == splits.Target()
    assert split.inputs == (splits.SplitInput("x"),)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"reader": "tsv"}, "/splits/0/reader"),
        ({"task": "poetry"}, "/splits/0/task"),
        ({"files": []}, "/splits/0/files"),
        ({"files": ["other.csv"]}, "/splits/0/files"),
        ({"files": "test.csv"}, "/splits/0/files"),
        ({"inputs": []}, "/splits/0/inputs"),
        ({"inputs": [{"name": "x", "columns": []}]}, "/splits/0/inputs/0/columns"),
        ({"inputs": [{"name": "x", "columns": ["a"], "dtype": "f4"}]}, "/splits/0/inputs/0"),
        ({"inputs": [{"name": "x", "columns": ["a"]}] * 2}, "/splits/0/inputs"),
        ({"target": None}, "/splits/0/target"),
        ({"target": {"column": ""}}, "/splits/0/target/column"),
        ({"target": {"column": "k", "labels": ["x", "x"]}}, "/splits/0/target/labels"),
        ({"reader": "npz", "files": ["digits.npz"]}, "/splits/0/inputs/0/columns"),
        ({"reader": "images", "files": ["pictures.zip"]}, "/splits/0/inputs/0/columns"),
        ({"name": None}, "/splits/0/name"),
    ],
)
def test_what_is_wrong_is_named_by_its_pointer(change, pointer):
    with pytest.raises(problems.InvalidRequest) as refused:
        splits.parse([{**TABLE, **change}], PATHS)
    assert pointer in [error["pointer"] for error in refused.value.errors]


SEVERAL = {**TABLE, "task": "multi-label-classification",
           "target": {"column": "", "labels": ["x", "y"], "columns": ["p", "q"]}}  # fmt: skip
PICTURES = {**TABLE, "reader": "images", "files": ["pictures.zip"],
            "inputs": [{"name": "x", "columns": [], "polarity": "dark-on-light"}],
            "target": {"column": "", "labels": ["x", "y"], "positive": "y"}}  # fmt: skip


@pytest.mark.parametrize("document", [SEVERAL, PICTURES])
def test_what_a_split_states_beyond_the_usual_is_written_as_it_was(document):
    (split,) = splits.parse([document], PATHS)
    assert split.document() == document
    assert splits.read_stored([split.document()]) == (split,)


@pytest.mark.parametrize(
    ("document", "change", "pointer"),
    [
        (TABLE, {"target": {"column": "k", "labels": ["x", "y"], "positive": "z"}}, "positive"),
        (TABLE, {"target": {"column": "k", "labels": ["x"], "positive": "x"}}, "positive"),
        (TABLE, {"target": {"column": "k", "columns": ["p", "q"]}}, "columns"),
        (SEVERAL, {"target": {"columns": ["p"]}}, "columns"),
        (SEVERAL, {"target": {"columns": ["p", "q"], "labels": ["x"]}}, "labels"),
        (SEVERAL, {"target": {"column": "p", "columns": ["p", "q"]}}, "column"),
        (SEVERAL, {"target": {"columns": ["p", "q"], "positive": "x"}}, "positive"),
    ],
)
def test_what_is_wrong_with_a_target_is_named_by_its_pointer(document, change, pointer):
    with pytest.raises(problems.InvalidRequest) as caught:
        splits.parse([{**document, **change}], PATHS)
    assert f"/splits/0/target/{pointer}" in [one["pointer"] for one in caught.value.errors]


def test_folders_of_pictures_have_one_class_and_tables_no_polarity():
    for document, pointer in (
        ({**PICTURES, "task": "multi-label-classification", "target": None}, "/splits/0/task"),
        ({**TABLE, "inputs": PICTURES["inputs"]}, "/splits/0/inputs/0/polarity"),
    ):
        with pytest.raises(problems.InvalidRequest) as caught:
            splits.parse([document], PATHS)
        assert pointer in [one["pointer"] for one in caught.value.errors]


@pytest.mark.parametrize("document", [{}, "x", [1], [None], [[]], [TABLE, TABLE], [TABLE] * 17])
def test_what_is_no_list_of_different_splits_is_refused(document):
    with pytest.raises(problems.InvalidRequest):
        splits.parse(document, PATHS)
