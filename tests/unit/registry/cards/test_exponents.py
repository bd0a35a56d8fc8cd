"""A number with an exponent is a number, as in JSON and YAML 1.2, wherever a card declares some."""

from __future__ import annotations

import pytest
import yaml

from metadata.exports import card as exported
from registry.cards import cards, edits, source

CARD = """---
co2_eq_emissions: {emissions: 1.2e3, source: a meter}
energy: 2E2
training_data: [{name: mnist, rows: 6e4}]
hyperparameters: {lr: 1e-3, decay: .5e-4}
inputs: {x: {range: [-1e2, +1E2]}}
model-index: [{results: [{dataset: {name: mnist}, metrics: [{type: accuracy, value: 9.5e-1}]}]}]
---
"""


def test_numbers_with_an_exponent_are_numbers():
    checked = cards.check(CARD)
    assert not checked.findings
    card = checked.card
    assert (card.emissions.grams, card.energy.kwh, card.results[0].value) == (1200, 200, 0.95)
    assert checked.front["training_data"][0]["rows"] == 60000
    assert checked.front["hyperparameters"] == {"lr": 0.001, "decay": 0.00005}


@pytest.mark.parametrize("text", ["e3", "1e", "1.2.3e4", "0x1e3", "1e3a", "deadbee", "1 e3"])
def test_other_words_stay_text(text):
    assert source.read(f"---\nrevision: {text}\n---\n").values["revision"] in (text, 0x1E3)
    assert not isinstance(source.read(f"---\nrevision: {text}\n---\n").values["revision"], float)


@pytest.mark.parametrize("text", ["'1e3'", '"12e4"'])
def test_quotes_make_text_of_a_number(text):
    assert source.read(f"---\nname: {text}\n---\n").values["name"] == text[1:-1]


def test_a_number_that_is_too_large_names_its_cure():
    (finding,) = cards.check("---\nrevision: 12e4567\n---\n").errors
    assert finding.pointer == "/revision"
    assert "put text in quotes" in finding.cure


@pytest.mark.parametrize("value", ["1e3", "-1.2e3", ".5E7", "1.2e+3", 1200.0, 1e20])
def test_what_is_written_reads_back_the_same(value):
    changed = edits.change("---\na: b\n---\n", {"summary": value})
    assert source.read(changed).values["summary"] == value
    assert yaml.load(exported.dump({"a": value}), Loader=source.Loader) == {"a": value}  # noqa: S506
