"""What reads strangers' texts in a web process takes time in proportion to their length."""

from __future__ import annotations

import contextlib
import time

import pytest

from hub.protocol import problems
from registry.api import inputs
from registry.cards import cards

UNITS = [
    "[", "(", "![", "[a](", "*_", "<a ", "|", "> ", "`", "a", "\n", " \n", '"', '\\"', "{", ",",
    "a-", "a.", "\u0301", "---\n", "# a\n\n", "- a\n",
]  # fmt: skip


def summarise(text):
    return cards.summary("", text)


def read_json(text):
    return inputs.read_json(f'["{text}'.encode())


READERS = {
    "summary": summarise,
    "body": cards.body,
    "open front matter": lambda text: cards.body(f"---\n{text}"),
    "check": cards.check,
    "JSON": read_json,
    "bare JSON": lambda text: inputs.read_json(text.encode()),
}


def seconds(reader, text):
    """The least processor time of three tries."""
    tries = []
    for _ in range(3):
        began = time.process_time()
        with contextlib.suppress(problems.Problem):
            reader(text)
        tries.append(time.process_time() - began)
    return min(tries)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_four_times_the_text_takes_about_four_times_as_long(reader):
    for unit in UNITS:
        some, more = (unit * (size // len(unit)) for size in (8_000, 32_000))
        # The square of it would be sixteen times as much.
        assert seconds(reader, more) < 9 * seconds(reader, some) + 0.03, unit
