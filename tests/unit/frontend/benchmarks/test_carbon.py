"""The tab that says what training took: what is declared, implied, or not there; and others."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.presenters import carbon
from hub.protocol.cards import Card
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
PAGE = "/models/ada/net/v/1/carbon"
CARD = """---
license: mit
pipeline_tag: image-classification
co2_eq_emissions:
  emissions: 1900
  source: CodeCarbon 3.2
  training_type: fine-tuning
  geographical_location: Quebec, Canada
  hardware_used: one GPU
energy: {kwh: 4.6, gpu_kwh: 4, hours: 7.5}
carbon_method: One run.
---
# Net
"""


def words(page):
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2])))


def facts(card):
    rows = carbon.training(Card.read(card))
    return {fact["name"]: (fact["value"], fact["kind"], fact.get("note", "")) for fact in rows}


def emitting(owner, name, grams, **model):
    text = f"---\npipeline_tag: image-classification\nco2_eq_emissions: {grams}\n---\n# {name}\n"
    return factories.version(owner, factories.model(owner, name, **model), card=text)


def bars(page):
    table = page.partition('aria-labelledby="comparison"')[2]
    return re.findall(r'<tr(?: class="(own)")?><th scope="row">(?:<a[^>]*>)?([^<]+)', table)


def test_every_declared_fact_has_its_tag(guest, ada):
    factories.version(ada, card=CARD)
    said = words(guest.page(PAGE))
    assert "Amount 1.9 kg CO₂e estimated from the card" in said
    assert "Energy 4.6 kWh declared" in said
    assert "GPU 4 kWh" in said
    assert "Place Quebec, Canada declared" in said
    assert "Grid intensity 413 g CO₂e/kWh estimated 1900 g ÷ 4.6 kWh" in said
    assert "Method One run. CodeCarbon 3.2 declared" in said
    assert "Uncertainty not declared" in said
    assert "Amount for 1 000 runs not measured" in said


def test_nothing_declared_is_told_in_words_and_nothing_is_computed(guest, ada):
    factories.version(ada)
    page = guest.page(PAGE)
    said = words(page)
    assert said.count("not declared") >= 9
    assert "kWh" not in said
    assert "estimated" not in said.partition("About the tags")[0]
    assert "No other public model of this task declares" in said


@pytest.mark.parametrize(
    ("card", "amount", "intensity"),
    [
        ({"co2_eq_emissions": 20.5}, "20.5 g CO₂e", "not declared"),
        ({"co2_eq_emissions": 0, "energy": 2}, "0 g CO₂e", "0 g CO₂e/kWh"),
        ({"co2_eq_emissions": 5, "energy": 0}, "5 g CO₂e", "not declared"),
        ({"co2_eq_emissions": "1 kg"}, "not declared", "not declared"),
        ({"co2_eq_emissions": True}, "not declared", "not declared"),
        ({"co2_eq_emissions": -1, "energy": -1}, "not declared", "not declared"),
        ({"co2_eq_emissions": {"emissions": float("inf")}}, "not declared", "not declared"),
    ],
)
def test_amounts(card, amount, intensity):
    told = facts(card)
    assert told["Amount"][0].replace("\u202f", " ") == amount
    assert told["Grid intensity"][0].replace("\u202f", " ") == intensity


def test_others_of_the_task_that_everybody_may_see(guest, reader, ada, bob):
    factories.version(ada, card=CARD)
    emitting(bob, "small", 100)
    emitting(bob, "large", 19000)
    emitting(bob, "hidden", 500, visibility="private")
    factories.version(bob, factories.model(bob, "silent"))
    for somebody in (guest, reader):
        page = somebody.page(PAGE)
        assert bars(page) == [("", "bob/small"), ("own", "ada/net@1"), ("", "bob/large")]
        assert "bob/hidden" not in page
        assert '<rect width="10.00" height="1"/>' in page
        assert '<rect width="100.00" height="1"/>' in page
        assert (
            "2 other public models of this task declare training carbon; 1 of them declare less"
            in words(page)
        )
        assert " style=" not in page


def test_many_others_are_cut_and_cost_one_question(guest, ada, bob):
    factories.version(ada, card=CARD)
    emitting(bob, "first", 10)
    with CaptureQueriesContext(connection) as few:
        guest.page(PAGE)
    for index in range(16):
        emitting(bob, f"net-{index}", 20 + index)
    with CaptureQueriesContext(connection) as many:
        page = guest.page(PAGE)
    assert len(many) == len(few)
    assert len(bars(page)) == carbon.OTHERS + 1
    assert f"{17 - carbon.OTHERS} more not shown" in words(page)


def test_a_version_that_declares_nothing_stands_beside_those_that_do(guest, ada, bob):
    factories.version(ada)
    emitting(bob, "small", 100)
    page = guest.page(PAGE)
    assert bars(page) == [("", "bob/small")]
    assert (
        "1 other public model of this task declares training carbon; this version does not."
        in words(page)
    )


def test_of_a_private_model_nothing_is_told(guest, reader, ada):
    factories.version(ada, factories.model(ada, visibility="private"), card=CARD)
    assert guest.get(PAGE).status_code == 404
    assert "1.9" in reader.page(PAGE)
