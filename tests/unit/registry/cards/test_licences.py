"""Several licences are several, and a choice among them stays one."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from django.contrib.auth.models import AnonymousUser

from frontend.pages.cards import editor
from hub.protocol.cards import Card
from metadata.models import NamedGraph
from registry.cards import cards, licences
from registry.catalogue import facets, search
from registry.catalogue.query import Query
from registry.core import outbox
from tests import factories, shared

pytestmark = pytest.mark.usefixtures("lists")

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
        ("apache-2.0, mit", ("apache-2.0", "mit"), ""),
        ("apache-2.0, MIT OR ISC", ("apache-2.0", "MIT", "ISC"), ""),
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
    assert licences.of_column(text, many) == tuple(many)
    assert licences.of_column("a b, c", ("a b", "c")) == ("a b", "c")
    assert licences.of_column("gpl-3.0", many) == ("gpl-3.0",)
    assert licences.of_column("MIT, ISC", ()) == ("MIT", "ISC")
    assert licences.items("MIT OR ISC", "mit", "") == ("MIT OR ISC", "mit")


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
        assert counts.missing_counts["license"] == 0
    for name, expression in (("list", 0), ("choice", 1)):
        nquads = NamedGraph.objects.get(iri__endswith=f"/{name}/v/1/metadata").nquads
        licence = "/v/1> <http://purl.org/dc/terms/license> <http://spdx.org/licenses/"
        assert nquads.count(licence) == 2
        assert nquads.count("licenceExpression") == expression
        assert "licences/apache" not in nquads
        nquads = NamedGraph.objects.get(iri__endswith=f"/ada/{name}/metadata").nquads
        assert nquads.count(licence.removeprefix("/v/1")) == 2
        assert "licences/apache" not in nquads


def test_pages_have_each_of_a_list(both, client, graphs):
    page = client.get("/models/ada/list/v/1").content.decode()
    tags = re.findall(r'href="/models\?license=([^"]+)">([^<]+)</a>', page)
    assert tags == [("apache-2.0", "Apache-2.0"), ("mit", "MIT")]
    page = client.get("/models/ada/choice/v/1").content.decode()
    assert re.findall(r'href="/models\?license=([^"]+)">([^<]+)</a>', page) == [
        ("mit%20or%20apache-2.0", "MIT OR apache-2.0")
    ]
    assert (
        'title="Apache-2.0, MIT">Apache-2.0, MIT</span>'
        in client.get("/models?q=list").content.decode()
    )
    link = client.get("/models/ada/list")["Link"]
    assert re.findall(r'<([^>]+)>;rel="license"', link.replace("; ", ";")) == [
        "http://spdx.org/licenses/Apache-2.0", "http://spdx.org/licenses/MIT",
    ]  # fmt: skip


def test_the_api_has_each_of_a_list(both, client):
    several = {"license": "apache-2.0, mit", "licenses": ["apache-2.0", "mit"]}
    model = client.get("/api/v1/models/ada/list").json()
    assert several.items() <= model.items()
    rows = client.get("/api/v1/models?license=apache-2.0&sort=name").json()["items"]
    assert [(row["license"], row["licenses"]) for row in rows] == [
        ("MIT OR apache-2.0", ["MIT", "apache-2.0"]),
        ("apache-2.0, mit", ["apache-2.0", "mit"]),
    ]
    assert "licenses" not in model["latest"]
    card = "---\nlicense: [apache-2.0, mit]\n---\n# A model\n"
    answer = client.post("/api/v1/cards/check", card, content_type="text/markdown").json()
    assert several.items() <= answer["card"].items()
    info = client.get("/api/models/ada/list").json()
    assert info["cardData"]["license"] == ["apache-2.0", "mit"]
    tags = [{tag for tag in row["tags"] if tag.startswith("license:")}
            for row in client.get("/api/models?filter=license:apache-2.0").json()]  # fmt: skip
    assert tags == [{"license:apache-2.0", "license:mit"}] * 2


def test_a_list_that_no_column_holds_stays_whole(client, graphs, db):
    known = ("cc-by-nc-nd-4.0", "cc-by-nc-sa-4.0", "cdla-permissive-2.0", "bigcode-openrail-m")
    written = [*known, "Our own"]
    ada = factories.somebody("ada")
    card = f"---\nlicense: {written}\n---\n# A model\n"
    factories.published(ada, factories.model(ada, "many"), card=card)
    outbox.deliver()
    for end in ("many", "many/v/1"):
        nquads = NamedGraph.objects.get(iri__endswith=f"/ada/{end}/metadata").nquads
        subject = f"/{end}> <http://purl.org/dc/terms/license> "
        assert nquads.count(subject) == len(written)
    assert client.get("/licences/Our%20own").status_code == 200
    assert client.get("/api/v1/models/ada/many").json()["licenses"] == written
    for name in written:
        assert names(name) == ["many"]


def test_a_list_typed_for_a_model_is_filtered_and_counted(client, graphs, db):
    ada = factories.somebody("ada")
    model = factories.model(ada, "typed", license="Apache-2.0, MIT")
    factories.published(ada, model, card="---\ntags: [x]\n---\n# A model\n")
    outbox.deliver()
    assert names("mit") == names("apache-2.0") == ["typed"]
    counts = facets.count(GUEST, Query.of(namespace=("ada",)))
    assert dict(counts["license"]) == {"mit": 1, "apache-2.0": 1}
    assert client.get("/api/v1/models/ada/typed").json()["licenses"] == ["Apache-2.0", "MIT"]
    assert "license: [Apache-2.0, MIT]\n" in editor.start(model)
    card = client.get("/models/ada/typed/v/1/export/README.md").content
    front = yaml.safe_load(card.split(b"---")[1])
    assert front["license"] == ["apache-2.0", "mit"]


def test_a_data_set_has_each_of_a_list(client, graphs, db):
    ada = factories.somebody("ada")
    factories.dataset(ada, "digits", license="CC-BY-4.0, ODbL-1.0")
    row = {"name": "other", "license": ["mit", "CC0-1.0"]}
    card = f"---\ntraining_data: [{json.dumps(row)}]\n---\n# A model\n"
    assert [one.pointer for one in cards.check(card).errors] == []
    factories.published(ada, factories.model(ada, "net"), card=card)
    outbox.deliver()
    terms = "> <http://purl.org/dc/terms/license> <http://spdx.org/licenses/"
    nquads = NamedGraph.objects.get(iri__endswith="/datasets/digits/metadata").nquads
    assert nquads.count(f"/datasets/digits{terms}") == 2
    nquads = NamedGraph.objects.get(iri__endswith="/net/v/1/metadata").nquads
    assert nquads.count(f"#data-other{terms}") == 2
    entry = client.get("/api/v1/datasets/digits").json()
    assert (entry["license"], entry["licenses"]) == (
        "CC-BY-4.0, ODbL-1.0", ["CC-BY-4.0", "ODbL-1.0"],
    )  # fmt: skip
    assert "<td>CC-BY-4.0, ODbL-1.0</td>" in client.get("/datasets").content.decode()


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


def test_a_licence_of_its_own_has_its_name_everywhere(client, graphs, db):
    ada = factories.somebody("ada")
    card = "---\nlicense: other\nlicense_name: Own 1.0\n---\n# A model\n"
    factories.published(ada, factories.model(ada, "own"), card=card)
    outbox.deliver()
    for end in ("own", "own/v/1"):
        nquads = NamedGraph.objects.get(iri__endswith=f"/ada/{end}/metadata").nquads
        subject = f"/models/ada/{end}> <http://purl.org/dc/terms/license> "
        assert nquads.count(subject) == 1
        assert f"{subject}<http://testserver/licences/own%201.0>" in nquads
    assert dict(facets.count(GUEST, Query())["license"]) == {"own 1.0": 1}
    assert names("Own 1.0") == ["own"]
    answer = client.get("/api/v1/models/ada/own").json()
    assert (answer["license"], answer["licenses"]) == ("Own 1.0", ["Own 1.0"])
    answer = client.post("/api/v1/cards/check", card, content_type="text/markdown").json()
    assert answer["card"]["license"] == "Own 1.0"
    page = client.get("/models/ada/own/v/1").content.decode()
    assert '<a class="tag"\n      href="/models?license=own%201.0">Own 1.0</a>' in page
    front = yaml.safe_load(
        client.get("/models/ada/own/v/1/export/README.md").content.split(b"---")[1]
    )
    assert (front["license"], front["license_name"]) == ("other", "Own 1.0")
