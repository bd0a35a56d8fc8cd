"""Changing a card by field leaves everything else as its author wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from hub.protocol import problems
from registry.cards import cards, edits, merges

CARD = """---
# first
license: mit  # mine
tags: [a,   b] # two

# about data
training_data:
  - name: A   # keep
    rows: 3
# above summary
summary: >-
  a
  b

empty:
# last
---
# Title
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_lines_of_a_field_change(newline):
    card = CARD.replace("\n", newline)
    changed = edits.change(card, {"license": "apache-2.0", "summary": "New: one", "doi": "10.1/x"})
    expected = (
        CARD.replace("license: mit  # mine", "license: apache-2.0  # mine")
        .replace("summary: >-\n  a\n  b\n", "summary: 'New: one'\n")
        .replace("# last\n", "# last\ndoi: 10.1/x\n")
    )
    assert changed == expected.replace("\n", newline)


def test_a_field_goes_and_its_neighbours_stay():
    changed = edits.change(CARD, {"training_data": None, "empty": None, "never_there": None})
    assert changed == CARD.replace(
        "training_data:\n  - name: A   # keep\n    rows: 3\n", ""
    ).replace("empty:\n", "")


def test_a_card_without_fields_gets_some():
    assert edits.change("# T\n", {"license": "mit"}) == "---\nlicense: mit\n---\n\n# T\n"
    assert edits.change("---\n---\nx", {"a": ["b"]}) == "---\na: [b]\n---\nx"
    assert edits.change("---\n{a: 1, b: 2}\n---\nx", {"a": 3}) == "---\na: 3\nb: 2\n---\nx"
    assert edits.change("# T\n", {"license": None}) == "# T\n"


def test_broken_yaml_is_not_edited():
    with pytest.raises(problems.CardInvalid, match="Line 2"):
        edits.change("---\na: [b\n---\n", {"license": "mit"})


_texts = some.text(some.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
_values = some.recursive(
    some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(_texts.filter(bool), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60)
@given(value=_values, name=some.sampled_from(["license", "training_data", "summary", "fresh"]))
def test_what_is_set_is_read_again(value, name):
    changed = edits.change(CARD, {name: value})
    before = cards.check(CARD).front
    assert cards.check(changed).front == {**before, name: value}
    assert changed.endswith("---\n# Title\n")


def test_a_proposal_fills_and_does_not_replace_what_a_person_wrote():
    front = {
        "training_data": [{"name": "A", "license": "mit"}],
        "creators": ["Ada"],
        "tags": ["x"],
        "energy": {"kwh": 1},
    }
    changes = merges.merged(
        front,
        {
            "training_data": [{"name": "a", "license": "gpl", "rows": 2}, {"name": "B"}],
            "creators": [{"name": "Ada", "orcid": "0000-0002-1825-0097"}],
            "tags": ["x"],
            "energy": {"hours": 2},
        },
    )
    assert changes == {
        "training_data": [{"name": "A", "license": "mit", "rows": 2}, {"name": "B"}],
        "creators": [{"name": "Ada", "orcid": "0000-0002-1825-0097"}],
        "energy": {"kwh": 1, "hours": 2},
    }
    assert front["creators"] == ["Ada"]
