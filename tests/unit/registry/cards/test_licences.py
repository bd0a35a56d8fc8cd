"""Several licences are several, and a choice among them stays one."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import AnonymousUser

from hub.protocol.cards import Card
from metadata.models import NamedGraph
from registry.cards import licences
from registry.catalogue import facets, search
from registry.catalogue.query import Query
from registry.core import outbox
from tests import factories, shared

GUEST = AnonymousUser()


@pytest.mark.parametrize(
    ("value", "named", "expression"),
    [
        (None, (), ""),
        ("", (), ""),
        ("mit", ("mit",), ""),
        (["mit"], ("mit",), ""),
        (["apache-2.0", "mit"], ("apache-2.0", "mit"), ""),
        ("MIT or apache-2.0", ("MIT", "apache-2.0"), "MIT OR Apache-2.0"),
        (["MIT OR Apache-2.0"], ("MIT", "Apache-2.0"), "MIT OR Apache-2.0"),
        (
            "(MIT AND BSD-3-Clause) OR Apache-2.0",
            ("MIT", "BSD-3-Clause", "Apache-2.0"),
            "(MIT AND BSD-3-Clause) OR Apache-2.0",
        ),
        ("free for research or teaching", ("free for research or teaching",), ""),
        ("My Licence, 2nd edition", ("My Licence, 2nd edition",), ""),
        ([["mit"], {"a": 1}, True, "mit", "mit"], ("mit",), ""),
    ],
)
def test_what_is_named(value, named, expression):
    written = Card.read({"license": value}).licenses
    assert licences.named(*written) == named
    assert licences.expression(*written) == expression


def test_a_column_holds_whole_names():
    many = ["cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0", "cdla-permissive-2.0", "bigcode-openrail-m"]
    text = licences.text(*many)
    assert len(text) <= licences.LONGEST
    assert text == "cc-by-nc-nd-4.0, cc-by-nc-sa-4.0, cdla-permissive-2.0 …"
    assert licences.text("x" * 100) == "x" * 64
    assert licences.text("a b", "c") == "a b, c"


@shared.rows
def start():
    ada = factories.somebody("ada")
    card = "---\nlicense: {}\n---\n# A model\n"
    factories.published(ada, factories.model(ada, "list"), card=card.format("[apache-2.0, mit]"))
    factories.published(ada, factories.model(ada, "choice"), card=card.format("MIT OR apache-2.0"))
    factories.published(ada, factories.model(ada, "one"), card=card.format("mit"))
    outbox.deliver()


@pytest.fixture
def both(start, db):
    """A model under a list of licences, one under a choice of them, one under a single one."""


def names(*values):
    rows = search.find(GUEST, Query.of(license=values)).items
    return sorted(row.title.partition("/")[2] for row in rows)


def test_each_of_several_is_found_counted_and_told(both, client, graphs):
    assert names("mit") == ["choice", "list", "one"]
    assert names("Apache-2.0") == ["choice", "list"]
    assert names("mit", "apache-2.0") == ["choice", "list", "one"]
    assert names("mit or apache-2.0") == ["choice", "list"]
    assert names("apache-2.0 mit") == []
    for query in (Query(), Query.of(namespace=("ada",)), Query.of(opset=17)):
        counts = facets.count(GUEST, query)
        assert dict(counts["license"]) == {"mit": 3, "apache-2.0": 2}
        assert counts.untold["license"] == 0
    for name, expression in (("list", 0), ("choice", 1)):
        nquads = NamedGraph.objects.get(iri__endswith=f"/{name}/v/1/metadata").nquads
        licence = "/v/1> <http://purl.org/dc/terms/license> <http://spdx.org/licenses/"
        assert nquads.count(licence) == 2
        assert nquads.count("licenceExpression") == expression
        assert "licences/apache" not in nquads
    assert "apache-2.0, mit" in client.get("/models/ada/list/v/1").content.decode()


def test_exports_and_the_hub_protocol_name_each(both, client, graphs):
    info = client.get("/api/models/ada/list").json()
    assert {"license:mit", "license:apache-2.0"} <= set(info["tags"])
    bom = json.loads(client.get("/models/ada/list/v/1/export/cyclonedx.json").content)
    told = bom["metadata"]["component"]["licenses"]
    assert [one["license"]["id"] for one in told] == ["Apache-2.0", "MIT"]
    bom = json.loads(client.get("/models/ada/choice/v/1/export/cyclonedx.json").content)
    assert bom["metadata"]["component"]["licenses"][0]["expression"] == "MIT OR Apache-2.0"
    spdx = json.loads(client.get("/models/ada/list/v/1/export/spdx.json").content)
    told = [
        one["simplelicensing_licenseExpression"]
        for one in spdx["@graph"]
        if one["type"] == "simplelicensing_LicenseExpression"
    ]
    assert told == ["Apache-2.0", "MIT"]
