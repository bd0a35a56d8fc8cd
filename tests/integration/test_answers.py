"""Lists and examples of a running hub give one answer, over HTTP, as anybody may ask."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from tests.faults.conftest import wait_for
from tests.integration import asking

SAME = {
    "mixed-precision": {"precision": "mixed"},
    "models-about-digits": {"contains": "digit"},
    "expects-bgr-images": {"pixel_format": "Bgr8"},
    "operator-at-old-opset": {"operator": "GridSample", "opset_max": 16},
    "failed-conformance": {"fails_on": "onnxruntime"},
    "trained-on-personal-data": {"personal_data": "yes"},
    "training-carbon": {"sort": "carbon"},
    "language-models-by-size": {"domain": "nlp", "sort": "size"},
}
# A process beside the hub must write the same addresses as the hub does.
HERE = "from django.conf import settings; settings.HUB_PUBLIC_URL = {address!r}\n"
FILL = """
from tests import factories, shelf
shelf.fill(factories.user("ada"), factories.user("bob"))
"""
ASKED = """
import json
from django.conf import settings
from metadata.sparql import example_queries
print(json.dumps({one.slug: one.query for one in example_queries.all_of(settings.HUB_PUBLIC_URL)}))
"""


def follows(hub):
    """Whether nothing waits to be told, and the store holds the newest graphs."""
    told = hub.call("GET", "/readyz")[2]["graphs"]
    waiting = hub.run_inside(
        "from registry.models import Delivery; print(Delivery.objects.exists())"
    )
    return waiting.strip() == "False" and told["revision"] == told["newest"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub without workers, with models of every kind."""
    made = asking.hub_at(tmp_path_factory.mktemp("answers"))
    made.run_inside(HERE.format(address=made.address) + FILL)
    wait_for(lambda: follows(made), "the graphs", 120)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def queries(hub):
    return json.loads(hub.run_inside(HERE.format(address=hub.address) + ASKED))


def models(hub, **asked):
    status, _, body = asking.send(hub, "GET", f"/api/v1/models?{urlencode(asked)}&limit=100")
    assert status == 200, body
    return json.loads(body)


@pytest.mark.parametrize("slug", SAME)
def test_an_example_and_its_list(hub, queries, slug):
    refs = [item["ref"] for item in models(hub, **SAME[slug])["items"]]
    assert refs
    found = [row["model"] for row in asking.rows(hub, queries[slug])]
    told = [iri.partition("/models/")[2].partition("/v/")[0] for iri in found]
    assert sorted(refs) == sorted(set(told))


def test_licences_are_counted_alike(hub, queries):
    counts = models(hub, facets="license")["facets"]["license"]
    found = asking.rows(hub, queries["models-by-licence"])
    told = {row["licence"].rpartition("/")[2].lower(): int(row["models"]) for row in found}
    assert {one["value"]: one["count"] for one in counts if one["value"]} == {
        name: count for name, count in told.items() if "#" not in name
    }


def test_every_example_answers_on_the_page(hub, queries):
    for slug in queries:
        status, _, body = asking.send(hub, "GET", f"/query?example={slug}", Accept="text/html")
        assert status == 200
        assert b'id="trouble"' not in body, (slug, body)
        assert b'id="result"' in body


def test_the_whole_result_is_a_file_and_a_limit_a_status(hub):
    query = urlencode({"query": "SELECT * { ?s ?p ?o } LIMIT 3"})
    status, headers, body = asking.send(hub, "GET", f"/query/result.csv?{query}")
    assert (status, len(body.splitlines())) == (200, 4)
    assert int(headers["Content-Length"]) == len(body)
    wrong = urlencode({"query": "SELECT"})
    assert asking.send(hub, "GET", f"/query/result.csv?{wrong}")[0] == 400
