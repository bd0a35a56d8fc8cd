"""The costs of a graph on its tab, and the same figures over the API."""

from __future__ import annotations

import re
from html import unescape

import pytest

from registry.catalogue import documents
from registry.models import RegisteredModel
from tests import drawn, factories, samples, shared
from tests.engine.costs.test_costs import attention_model

pytestmark = pytest.mark.django_db
GRAPH = "/models/ada/net/v/1/graph"
COSTS = "models/ada/net/versions/1/costs"


@shared.rows
def start():
    contents = {"model.onnx": attention_model().SerializeToString()}
    version = factories.published(factories.somebody("ada"), contents=contents)
    drawn.draw(version)
    return version


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def text(page):
    """A page as it is read out, with plain spaces."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


@pytest.mark.usefixtures("version")
def test_the_page_shows_totals_for_usual_sizes_and_for_chosen_ones(guest):
    page = text(guest.page(GRAPH))
    # 256 · 128 + 32 · 128²
    assert "for batch 1, steps 128; computed from the graph" in page
    assert "Multiply-accumulate operations 557 k 256 · batch · steps + 32 · batch · steps²" in page
    assert "Weights 1.06 kB" in page
    other = text(guest.page(f"{GRAPH}?size:batch=2&size:steps=10"))
    assert "for batch 2, steps 10" in other
    assert "Multiply-accumulate operations 11.5 k" in other
    assert re.search(r"MatMul 3 nodes 11\.5 k 100 %", other)
    assert "Largest steps that fits: 1 GB: " in other


@pytest.mark.usefixtures("version")
def test_the_api_gives_the_same_figures(api):
    body = api().get(f"{COSTS}?size=batch:2&size=steps:10").json()
    assert body["sizes"] == {"batch": 2, "steps": 10}
    assert body["macs"] == 256 * 20 + 32 * 2 * 100
    assert body["macs_function"] == "256 · batch · steps + 32 · batch · steps²"
    assert body["memory_bytes"] == body["weights_bytes"] + body["activations_bytes"]
    assert body["exact_for"] == "all sizes"
    assert [node["operator"] for node in body["nodes"] if node["macs"]] == ["MatMul"] * 3
    assert sum(node["macs"] for node in body["nodes"]) == body["macs"]


@pytest.mark.usefixtures("version")
@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("steps:long", "whole number"),
        ("width:4", "no free dimension of this model (batch, steps)"),
        ("steps:9999999999", "at most 1,073,741,824"),
        ("steps", "no free dimension"),
    ],
)
def test_sizes_that_are_none_are_refused(api, guest, size, words):
    answer = api().get(f"{COSTS}?size={size}")
    assert answer.status_code == 400
    assert words in answer.json()["detail"]
    name, _, number = size.rpartition(":")
    assert guest.get(f"{GRAPH}?size:{name}={number}").status_code == 400


def test_a_model_that_nobody_has_prepared_says_so(api, ada):
    factories.published(ada)
    answer = api().get(COSTS)
    assert answer.status_code == 404
    assert "have not been counted" in answer.json()["detail"]


def test_a_private_model_shows_no_costs(api, ada, bob):
    drawn.draw(factories.version(ada))
    RegisteredModel.objects.update(visibility="private")
    missing = api(bob).get("models/ada/nothing/versions/1/costs").json()
    hidden = api(bob).get(COSTS).json()
    assert hidden["detail"].replace("net", "nothing") == missing["detail"]
    assert api(ada).get(COSTS).status_code == 200


def test_a_file_with_other_content_is_no_table(guest, ada):
    drawn.draw(factories.version(ada, contents={"model.onnx": samples.unknown_domain()}))
    shown = text(guest.page(GRAPH))
    assert "The sums leave out " in shown
    assert re.search(r"Multiply-accumulate operations\s+at least ", shown)


@pytest.mark.usefixtures("lists")
@pytest.mark.usefixtures("version")
def test_lists_filter_and_sort_by_what_a_run_costs(api, guest, ada):
    """For batch 1 and 128 steps: 557,056 operations."""
    macs, memory = 256 * 128 + 32 * 128 * 128, None
    variant = api().get("models/ada/net/versions/1/variants").json()["items"][0]
    assert variant["macs"] == macs
    memory = variant["memory_bytes"]
    factories.published(ada, factories.model(ada, "uncounted"))
    for bound, count in ((f"max_macs={macs}", 1), (f"max_macs={macs - 1}", 0),
                         (f"max_memory={memory}", 1), (f"max_memory={memory - 1}", 0)):  # fmt: skip
        assert api().get(f"models?{bound}").json()["count"] == count
    rows = api().get("models?sort=macs").json()["items"]
    assert [row["name"] for row in rows] == ["net"]
    facets = api().get("models?facets=max_macs&facets=max_memory").json()["facets"]
    assert facets["max_macs"][0] == {"value": "10000000", "count": 1}
    assert facets["max_memory"][0] == {"value": "10000000", "count": 1}
    page = guest.page("/models?max_macs=10000000")
    assert "10 M MACs" in text(page)
    assert 'href="/models/ada/net"' in page
    assert "uncounted" not in page


@pytest.mark.usefixtures("lists")
def test_a_model_with_unknown_costs_is_in_no_list_of_cheap_ones(api, ada):
    drawn.draw(factories.version(ada, contents={"model.onnx": samples.unknown_domain()}))
    assert api().get("models").json()["count"] == 1
    assert api().get("models?max_macs=10000000000").json()["count"] == 0


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("sort", ["macs", "memory"])
def test_pages_of_an_order_by_costs_follow_each_other_for_everyone(api, ada, sort):
    """Own models are merged with public ones, from the columns that a list shows."""
    for place in range(4):
        version = factories.version(ada, factories.model(ada, f"net{place}"))
        version.variants.update(macs=100 - place, memory_bytes=100 - place)
        documents.refresh(version.model_id)
    RegisteredModel.objects.filter(name="net1").update(visibility="private")
    documents.refresh(RegisteredModel.objects.get(name="net1").pk)
    for client, names in ((api(), ["net3", "net2", "net0"]),
                          (api(ada), ["net3", "net2", "net1", "net0"])):  # fmt: skip
        order, path = [], f"models?sort={sort}&limit=1"
        while path:
            body = client.get(path).json()
            order += [row["name"] for row in body["items"]]
            path = (body["next"] or "").partition("/api/v1/")[2]
        assert order == names
