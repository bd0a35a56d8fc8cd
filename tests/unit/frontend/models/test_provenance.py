"""The tab that says where a version comes from: sentences, their questions, what is not told."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pyoxigraph
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from metadata.rdf import terms
from metadata.store import negotiation
from registry.versions.services import versions
from tests import factories, proven
from tests.unit.frontend.conftest import Reader

pytestmark = pytest.mark.django_db
PAGE = "/models/ada/net/v/1/provenance"
HOSTILE = '"><script>alert(1)</script>'
CARD = """---
license: mit
base_model: [zoo/base@1, "https://example.com/other?a=1&b=2"]
base_model_relation: finetune
creators: [Ada Lovelace, {name: Charles, orcid: 0000-0002-1825-0097}]
datasets: [stones, "https://doi.org/10.24432/C50P49"]
hyperparameters: {lr: 0.1, deep: {a: 1}}
hardware: one old CPU
mirrored_from: {url: "https://hub.example/zoo/net", commit: abc}
---
# Net
"""


def words(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])))


def sentences(page):
    entries = page.partition('<ul class="told">')[2].partition("</ul>")[0]
    return [words(f"<main{part}") for part in entries.split("<li>")[1:]]


def questions(page):
    return [
        parse_qs(urlsplit(unescape(url)).query)["query"][0]
        for url in re.findall(r'href="(/query\?query=[^"]+)"', page)
    ]


def test_who_made_what_from_what_and_who_says_so(guest, ada, graphs):
    factories.dataset(ada)
    admin = factories.admin()
    base = factories.version(admin, factories.model(admin, "base", slug="zoo"))
    factories.version(ada, card=CARD)
    page = guest.page(PAGE)
    said = sentences(page)
    assert any("ada created this version" in one and "recorded" in one for one in said)
    assert any("Derived from zoo/base@1 by fine-tuning." in one for one in said)
    assert any("https://example.com/other?a=1&b=2" in one and "declared" in one for one in said)
    assert any("Created by Ada Lovelace, Charles." in one for one in said)
    assert any("Trained on stones, https://doi.org/10.24432/C50P49." in one for one in said)
    assert any("lr 0.1" in one for one in said)
    assert any("one old CPU" in one for one in said)
    assert any(
        "Mirrored from https://hub.example/zoo/net at the commit abc." in one for one in said
    )
    assert any("Not signed." in one and "not stated" in one for one in said)
    assert f'href="/models/zoo/base/v/{base.number}"' in page
    assert 'href="/datasets/stones"' in page
    assert 'class="drawing"' in page
    assert 'aria-hidden="true"' in page.partition('class="drawing"')[2][:200]
    assert 'href="/models/ada/net/v/1.ttl"' in page
    assert "prov:wasDerivedFrom &lt;http://testserver/models/zoo/base/v/1&gt;" in page
    assert "earl:" not in page.partition("<pre>")[2].partition("</pre>")[0]


@pytest.mark.capability("sparql")
def test_each_question_finds_what_its_sentence_says(guest, ada, graphs):
    factories.dataset(ada)
    version = factories.version(ada, card=CARD)
    proven.upgrade(version, b"upgraded")
    store = pyoxigraph.Store()
    store.load(negotiation.of_version(version).encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    asked = questions(guest.page(PAGE))
    assert len(asked) >= 7
    for text in asked:
        rows = list(store.query(text, use_default_graph_as_union=True))
        assert rows, text
    found = {str(row["statement"].value) for text in asked for row in
             store.query(text, use_default_graph_as_union=True)}  # fmt: skip
    assert f"{terms.PROV}wasDerivedFrom" in found
    assert f"{terms.IT6}trainedOn" in found


def test_what_the_hub_derived_leads_to_its_job(guest, ada, graphs):
    version = factories.version(ada)
    made = proven.upgrade(version, b"upgraded")
    page = guest.page(PAGE)
    assert f"The hub derived the variant {made.name} from default by upgrade to opset 26" in words(
        page
    )
    assert f'href="/jobs/{made.job_uuid}"' in page


def test_what_nobody_said_is_said(guest, ada, graphs):
    factories.version(ada)
    said = words(guest.page(PAGE))
    for missing in (
        "Authors not declared.",
        "No base model declared.",
        "Training data not declared.",
        "The file does not name the tool that wrote it.",
    ):
        assert missing in said


def test_a_strangers_words_are_text(reader, ada):
    card = (
        "---\n"
        f"base_model: '{HOSTILE}'\n"
        f"creators: ['{HOSTILE}', {{name: [1]}}, 7]\n"
        f"datasets: ['{HOSTILE}', 'javascript:alert(1)']\n"
        f"hardware: '{HOSTILE}'\n"
        f"hyperparameters: {{'{HOSTILE}': '{HOSTILE}'}}\n"
        "mirrored_from: {url: 'javascript:alert(1)'}\n"
        "---\n# x\n"
    )
    version = factories.draft(ada)
    type(version).objects.filter(pk=version.pk).update(card=parsed(card))
    for tab in ("provenance", "carbon", "lineage"):
        page = reader.page(f"/models/ada/net/v/1/{tab}")
        assert "<script>alert" not in page
        assert 'href="javascript' not in page


def parsed(card):
    from registry.cards import cards

    return cards.check(card).front


def test_a_card_of_any_shape_is_no_error(reader, ada):
    version = factories.draft(ada)
    for card in (
        {"base_model": {"a": 1}, "creators": 3, "datasets": {"name": 4}, "hyperparameters": []},
        {"base_model": [None, True, ["x"]], "co2_eq_emissions": [1], "energy": "much"},
        {"co2_eq_emissions": {"emissions": "nan", "training_type": []}, "energy": {"kwh": -1}},
        {"base_model_relation": ["x"], "base_model": "a/b", "hardware": {"x": 1}},
        {"co2_eq_emissions": 1e308, "energy": 1e-300, "datasets": [{"iri": "http://[bad"}]},
        {"base_model": "x" * 5000, "creators": ["y" * 5000], "energy": {"kwh": 0}},
    ):
        type(version).objects.filter(pk=version.pk).update(card=card)
        for tab in ("provenance", "carbon", "lineage"):
            reader.page(f"/models/ada/net/v/1/{tab}")


def test_a_private_model_has_no_questions_and_no_strangers(guest, reader, ada, bob):
    factories.version(ada, factories.model(ada, visibility="private"), card=CARD)
    page = reader.page(PAGE)
    assert questions(page) == []
    assert "have no query links" in words(page)
    other = Reader()
    other.force_login(bob)
    for somebody in (guest, other):
        assert somebody.get(PAGE).status_code == 404


def test_a_hidden_base_is_text_as_one_that_never_was(guest, ada, bob, graphs):
    factories.version(bob, factories.model(bob, "secret", visibility="private"))
    pages = []
    for index, name in enumerate(("bob/secret", "bob/nothin"), start=1):
        model = factories.model(ada, f"net{index}")
        factories.version(ada, model, card=CARD.replace("zoo/base", f"{name}@1"))
        for tab in ("provenance", "lineage"):
            page = guest.page(f"/models/ada/net{index}/v/1/{tab}")
            assert f"{name}@1" in words(page)
            assert f'href="/models/{name}' not in page
            pages.append(re.sub(r"<time.*?</time>|[0-9a-f]{64}|csrf[^>]+", "", page))
    for hidden, missing in zip(pages[:2], pages[2:], strict=True):
        same = hidden.replace("bob/secret", "bob/nothin").replace("net1", "net2")
        told = [re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "", one) for one in (same, missing)]
        assert words(told[0]) == words(told[1])


def test_of_a_withdrawn_version_the_graph_is_gone(guest, ada):
    version = factories.version(ada, card=CARD)
    versions.withdraw(ada, version=version, reason="It was wrong.")
    page = guest.page(PAGE)
    assert questions(page) == []
    assert "deleted with the version" in words(page)
    assert ".ttl" not in page.partition("<main")[2]


def test_questions_to_the_database_do_not_grow_with_variants(guest, ada, graphs):
    version = factories.version(ada, card=CARD)
    counts = []
    for content in (b"one", b"two", b"three"):
        proven.convert(version, content, recipe=f"int8{content.decode()}")
        proven.upgrade(version, content, target=26 + len(counts))
        with CaptureQueriesContext(connection) as asked:
            guest.page(PAGE)
        counts.append(len(asked))
    assert counts[0] == counts[1] == counts[2]
    assert counts[0] <= 49
