"""The list's state is its address, and every state has one address."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from frontend import filters
from hub.protocol import problems
from registry.search import Query


def test_empty_and_preset_values_leave_the_address():
    query = filters.read(QueryDict("q=&task=&sort=updated&opset_max="))
    assert query == Query()
    assert filters.address(query) == "/models"


def test_address_round_trip():
    address = "/models?q=tiny&task=a&task=b&precision=int8&opset_max=17&sort=size"
    assert filters.address(filters.read(QueryDict(address.partition("?")[2]))) == address


def test_unknown_sort_is_the_preset_and_a_wrong_opset_is_refused():
    assert filters.read(QueryDict("sort=colour")).sort == "updated"
    with pytest.raises(problems.InvalidRequest):
        filters.read(QueryDict("opset_max=seventeen"))


def test_a_chip_drops_its_value_alone():
    query = filters.read(QueryDict("task=a&task=b&license=mit"))
    assert [(chip.title, chip.words, chip.url) for chip in filters.chips(query)] == [
        ("Task", "A", "/models?task=b&license=mit"),
        ("Task", "B", "/models?task=a&license=mit"),
        ("Licence", "MIT", "/models?task=a&task=b"),
    ]


def test_values_without_models_stay_with_a_zero():
    nothing = {name: [] for name in filters.GROUPS}
    counts = nothing | {"task": [("a", 2)]}
    known = nothing | {"task": [("a", 2), ("b", 1)]}
    (group,) = filters.groups(Query(task=("c",)), counts, known)
    assert [(choice.value, choice.count, choice.on) for choice in group.first] == [
        ("c", 0, True),
        ("a", 2, False),
        ("b", 0, False),
    ]


def test_opset_counts_add_up_from_below():
    nothing = {name: [] for name in filters.GROUPS}
    counts = nothing | {"opset_max": [("21", 3), ("17", 2), ("9", 1)]}
    (group,) = filters.groups(Query(), counts, counts)
    assert [(choice.words, choice.count) for choice in group.first] == [
        ("any", None),
        ("21", 6),
        ("17", 3),
        ("9", 1),
    ]


def test_seven_values_then_the_rest():
    nothing = {name: [] for name in filters.GROUPS}
    counts = nothing | {"keyword": [(f"w{index}", 1) for index in range(10)]}
    (group,) = filters.groups(Query(), counts, counts)
    assert (len(group.first), len(group.rest)) == (7, 3)
