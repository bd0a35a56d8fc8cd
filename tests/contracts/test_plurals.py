"""No text counts "1 files": `hub.counting` writes counts with their nouns, for all rooms.

A number before a plural noun is fine where it is a limit (a constant or a setting), and where the
text is only written for more than one.
"""

from __future__ import annotations

import ast
import re

import pytest

from hub import counting
from tests.contracts.sources import nodes
from tests.contracts.test_documentation import ROOT

ROOMS = ("hub", "registry", "metadata", "runners", "frontend")
NOUNS = (
    "accounts|attempts|backups|blobs|cards|cases|chunks|commits|devices|drafts|entries|errors|events"
    "|files|findings|graphs|groups|images|jobs|members|messages|mirrors|models|namespaces|nodes"
    "|objects|orphans|outputs|problems|processes|quads|records|results|rounds|statements|tensors"
    "|texts|tokens|triples|uploads|users|variants|versions|warnings|workers"
)
# The noun, or an adjective and the noun.
PLURAL = re.compile(
    rf"^ (?!(?:already|between|in|names?|of|on|outside|the|to|The)\b)(?:\w+ )?(?:{NOUNS})\b"
)
LIMIT = re.compile(r"[A-Z_]{3,}|\b(?:most|limits?|maximum)\b")
# Written for more than one only.
MANY = {
    "all {self.nodes} nodes ran", "{len(runs)} runs were summed", ", {trial.processes} processes",
    "{count} models", "of {len(document)} results", "{MOST_MEMBERS:,} are read",
    "{self.devices} devices, {self.rounds} rounds", "{between_process_cv']:.1%}",
}  # fmt: skip


def counts(source):
    """The numbers before plural nouns in the f-strings of a module, with the text after them."""
    for node in nodes(source):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, following in zip(node.values, node.values[1:], strict=False):
            is_counted = (
                isinstance(value, ast.FormattedValue)
                and value.conversion == -1
                and isinstance(following, ast.Constant)
                and PLURAL.match(str(following.value))
            )
            if is_counted and not LIMIT.search(ast.unparse(value.value)):
                text = ast.unparse(node)[2:-1]
                if not any(one in text for one in MANY):
                    yield node.lineno, text


def test_texts_count_with_the_helper():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if "migrations" not in path.relative_to(ROOT).parts
        for line, text in counts(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "Use hub.counting.plural or noun:\n" + "\n".join(wrong)


def test_what_the_rule_sees():
    assert list(counts('f"{len(files)} files sent"'))
    assert list(counts('f"{removed} old backups removed"'))
    assert not list(counts('f"at most {MOST_FILES} files"'))
    assert not list(counts('f"{one.name} differs"'))


@pytest.mark.parametrize(
    ("count", "one", "many", "text"),
    [
        (0, "file", "", "0 files"),
        (1, "file", "", "1 file"),
        (2, "file", "", "2 files"),
        (1234, "process", "processes", "1 234 processes"),
        (1, "blob is", "blobs are", "1 blob is"),
    ],
)
def test_a_count_with_its_noun(count, one, many, text):
    assert counting.plural(count, one, many) == text
