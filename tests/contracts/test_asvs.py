"""The table of ASVS 5.0.0 in docs/security.md: whole, without doubles, and of tests that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

from tests import asvs

REQUIREMENTS = asvs.load()


@cache
def functions(path: str) -> set[str]:
    """The names of the functions in a file."""
    tree = ast.parse((asvs.ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_requirement_is_there_once_in_the_order_of_the_standard():
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    assert set(asvs.numbers()) ^ set(ids) == set()
    assert ids == asvs.numbers()
    assert {requirement.level for requirement in REQUIREMENTS} == {1, 2}


def test_a_requirement_is_met_by_tests_or_has_a_reason():
    for requirement in REQUIREMENTS:
        is_met = requirement.state == asvs.State.MET
        assert bool(requirement.tests) == is_met, requirement.id
        assert bool(requirement.reason) == (not is_met), requirement.id
        for text in (requirement.text, requirement.reason or "Shown."):
            assert re.fullmatch(r"[\w`][^|\n]+\.", text), requirement.id


def test_every_test_of_a_requirement_exists():
    missing = []
    for requirement in REQUIREMENTS:
        for test in requirement.tests:
            path, _, name = test.partition("::")
            if not (asvs.ROOT / path).is_file() or name not in functions(path):
                missing.append(f"{requirement.id}: {test}")
    assert missing == []


def test_every_file_that_a_reason_names_exists():
    missing = [
        f"{requirement.id}: {path}"
        for requirement in REQUIREMENTS
        for path in re.findall(r"(?:[a-z_]+/)+[\w.-]+\.(?:py|md|yaml)", requirement.reason)
        if not (asvs.ROOT / path).is_file()
    ]
    assert missing == []
