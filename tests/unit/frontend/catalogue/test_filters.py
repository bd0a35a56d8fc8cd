"""The list's state is its address, and every state has one address."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from frontend.presenters import licences, list_filters
from frontend.templatetags import parts
from hub.protocol import problems
from registry.catalogue import facets
from registry.catalogue.query import Query


def test_empty_and_preset_values_leave_the_address():
    query = list_filters.read(QueryDict("q=&task=&sort=updated&opset_max="))
    assert query == Query()
    assert list_filters.address(query) == "/models"


def test_address_round_trip():
    address = "/models?q=tiny&task=a&task=b&precision=int8&opset_max=17&sort=size"
    assert list_filters.address(list_filters.read(QueryDict(address.partition("?")[2]))) == address


def test_an_unknown_sort_and_a_wrong_opset_are_refused():
    assert list_filters.read(QueryDict("sort=")).sort == "updated"
    for asked in ("sort=colour", "opset_max=seventeen"):
        with pytest.raises(problems.InvalidRequest):
            list_filters.read(QueryDict(asked))


def test_a_chip_drops_its_value_alone():
    query = list_filters.read(QueryDict("task=a&task=b&license=mit"))
    assert [(chip["title"], chip["words"], chip["url"]) for chip in list_filters.chips(query)] == [
        ("Task", "A", "/models?task=b&license=mit"),
        ("Task", "B", "/models?task=a&license=mit"),
        ("Licence", "MIT", "/models?task=a&task=b"),
    ]


def test_values_without_models_stay_with_a_zero():
    nothing = {name: [] for name in facets.GROUPS}
    counts = nothing | {"task": [("a", 2)]}
    known = nothing | {"task": [("a", 2), ("b", 1)]}
    (group,) = list_filters.groups(Query.of(task=("c",)), counts, known)
    assert [(choice.value, choice.count, choice.on) for choice in group["first"]] == [
        ("c", 0, True),
        ("a", 2, False),
        ("b", 0, False),
    ]


def test_opset_counts_add_up_from_below():
    nothing = {name: [] for name in facets.GROUPS}
    counts = nothing | {"opset_max": [("21", 3), ("17", 2), ("9", 1)]}
    (group,) = list_filters.groups(Query(), counts, counts)
    assert [(choice.words, choice.count) for choice in group["first"]] == [
        ("any", None),
        ("21", 6),
        ("17", 3),
        ("9", 1),
    ]


def test_seven_values_then_the_rest():
    nothing = {name: [] for name in facets.GROUPS}
    counts = nothing | {"keyword": [(f"w{index}", 1) for index in range(10)]}
    (group,) = list_filters.groups(Query(), counts, counts)
    assert (len(group["first"]), len(group["rest"])) == (7, 3)


def test_an_exact_opset_is_a_choice_of_its_own():
    nothing = {name: [] for name in facets.GROUPS}
    counts = nothing | {"opset": [("21", 3), ("17", 2)]}
    query = list_filters.read(QueryDict("opset=17"))
    assert query == Query.of(opset=17)
    assert list_filters.address(query) == "/models?opset=17"
    (group,) = list_filters.groups(query, counts, counts)
    assert [(choice.words, choice.count, choice.on) for choice in group["first"]] == [
        ("any", None, False),
        ("21", 3, False),
        ("17", 2, True),
    ]
    with pytest.raises(problems.InvalidRequest):
        list_filters.read(QueryDict("opset=latest"))


def test_licences_stand_in_families():
    nothing = {name: [] for name in facets.GROUPS}
    names = ["llama3", "cc-by-nc-4.0", "mit", "gpl-3.0-only", "apache-2.0", "cc-by-nc-sa-4.0"]
    counts = nothing | {"license": [(name, 1) for name in names]}
    (group,) = list_filters.groups(Query.of(license=("mit",)), counts, counts)
    assert [(choice.family, choice.value) for choice in group["first"]] == [
        ("Permissive", "mit"),
        ("Permissive", "apache-2.0"),
        ("Share-alike", "gpl-3.0-only"),
        ("Non-commercial", "cc-by-nc-4.0"),
        ("Non-commercial", "cc-by-nc-sa-4.0"),
        ("Other", "llama3"),
    ]
    html = str(parts.choices(group, group["first"]))
    assert html.count('<p class="family">Permissive</p>') == 1
    assert html.count('<p class="family">') == 4


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("BSD-3-Clause", "Permissive"),
        ("cc0-1.0", "Permissive"),
        ("cc-by-4.0", "Permissive"),
        ("cc-by-sa-4.0", "Share-alike"),
        ("lgpl-3.0", "Share-alike"),
        ("mpl-2.0", "Share-alike"),
        ("cc-by-nc-nd-4.0", "Non-commercial"),
        ("cc-by-nd-4.0", "Other"),
        ("openrail", "Other"),
        ("mitten", "Other"),
        ("", "Other"),
    ],
)
def test_family_of_a_licence(name, family):
    assert licences.family(name) == family


def test_each_chip_can_be_dropped():
    address = "task=a&max_bytes=10&max_p50=2&contains=x&min=accuracy%3D0.9&q=net"
    query = list_filters.read(QueryDict(address))
    for chip in list_filters.chips(query):
        if chip["group"] != "q":
            assert list_filters.without(query, chip["group"]) != query
    assert list_filters.without(query, "accuracy").accuracy == ()
