"""Texts that are slow to read are refused early, with the limit and the cure."""

from __future__ import annotations

import json

import pytest

from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("[" * 100_000, 413, "has more"),
        ('{"a":' * 900 + "1" + "}" * 900, 413, "deeper than 64 levels"),
        ('{"name": "' + '\\"' * 100_000, 400, "not valid JSON"),
        ('{"name": NaN}', 400, "NaN is not a JSON number"),
        ("1" * 10_000, 400, "not valid JSON"),
        (" " * 5_300_000, 413, "5,242,880 bytes"),
    ],
)
def test_json_is_bounded_before_it_is_read(api, ada, body, status, words):
    answer = api(ada).post("tokens", body)
    assert answer.status_code == status
    assert words in answer.json()["detail"]


def test_brackets_and_commas_inside_strings_count_for_nothing(api, ada):
    name = '[{,\\"' * 15
    made = api(ada).post("tokens", json.dumps({"name": name, "scopes": ["read"]}))
    assert (made.status_code, made.json()["name"]) == (201, name)


@pytest.mark.usefixtures("lists")
def test_a_list_is_measured_before_its_items_are_looked_at(api, ada):
    factories.model(ada)
    answer = api(ada).patch("models/ada/net", {"keywords": ["a"] * 4_000}, If_Match="*")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error == {"pointer": "/keywords", "detail": "At most 50 items are accepted."}


def test_few_of_many_unknown_fields_are_named(api, ada):
    answer = api(ada).post("tokens", {f"a{at:04}": 1 for at in range(4_000)})
    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == 20


def test_a_card_is_measured_while_it_arrives(api, ada):
    factories.draft(ada)
    answer = api(ada).put(
        "models/ada/net/versions/1/card",
        "x" * 1_000_001,
        content_type="text/markdown",
        If_Match="*",
    )
    assert answer.status_code == 413


def test_a_list_of_forms_fields_is_bounded(api, ada):
    factories.version(ada)
    answer = api(ada)(
        "POST", "/api/models/ada/net/paths-info/main", "paths=a&" * 1_100,
        content_type="application/x-www-form-urlencoded",
    )  # fmt: skip
    assert (answer.status_code, answer.json()["error"]) == (
        413, "A form may have at most 1,000 fields. Send it in parts.",
    )  # fmt: skip


@pytest.mark.parametrize("number", ["1" * 5_000, "²", "1" * 12])
def test_numbers_that_nobody_means_are_no_fault(api, ada, number, graphs):
    version = factories.version(ada)
    assert api().get(f"models?limit={number}").status_code == 400
    for page in (f"/models/ada/net?v={number}", f"/models/ada/net/versions?before={number}"):
        assert api().get(page).status_code == 200
    (file,) = [one for one in version.files.all() if one.path == "model.onnx"]
    answer = api().get(f"/models/ada/net/v/1/files/{file.path}", Range="bytes=" + "1" * 5_000 + "-")
    assert answer.status_code == 200


def test_a_reference_of_many_parts_names_nothing(api, ada):
    factories.version(ada)
    body = {"startingPoint": "a/" * 50_000}
    answer = api(ada).post("/api/models/ada/net/branch/x", body)
    assert answer.status_code == 404
