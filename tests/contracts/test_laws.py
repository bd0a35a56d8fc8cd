"""The laws in tests/laws are sound data: `scripts/test-laws` can make every break of them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from tests import laws

LAWS = laws.load()
BREAKS = [(law, one) for law in LAWS for one in law.breaks]


def repeated(values) -> list:
    return [value for value, count in Counter(values).items() if count > 1]


@cache
def functions(path: str) -> set[str]:
    """The names of the tests in a file, those in classes as `Class::name`."""
    names = set()
    for one in ast.parse(source(path)).body:
        if isinstance(one, ast.FunctionDef):
            names.add(one.name)
        elif isinstance(one, ast.ClassDef):
            inner = (part for part in one.body if isinstance(part, ast.FunctionDef))
            names |= {f"{one.name}::{part.name}" for part in inner}
    return names


@cache
def source(path: str) -> str:
    return (laws.ROOT / path).read_text(encoding="utf-8")


def test_every_law_is_one_sentence_under_a_name_of_its_own():
    assert repeated(law.name for law in LAWS) == []
    assert repeated(law.law for law in LAWS) == []
    for law in LAWS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", law.id), law.name
        assert re.fullmatch(r"[A-Z][^|\n]+\.", law.law), law.name


def test_every_law_has_a_test_and_a_break():
    assert [law.name for law in LAWS if not law.tests or not law.breaks] == []
    assert {law.area for law in LAWS} == set(laws.AREAS)
    assert {path.stem for path in laws.FOLDER.glob("*.toml")} == set(laws.AREAS)


def test_every_test_of_a_law_exists():
    missing = []
    for law in LAWS:
        for test in law.tests:
            path, _, name = test.partition("::")
            if not (laws.ROOT / path).is_file() or name not in functions(path):
                missing.append(test)
    assert missing == []


def test_every_break_applies_to_one_place():
    stale = []
    for law, one in BREAKS:
        if not (laws.ROOT / one.file).is_file() or source(one.file).count(one.old) != 1:
            stale.append(f"{law.name}: {one.file} does not hold this text once: {one.old!r}")
        elif one.old == one.new:
            stale.append(f"{law.name}: the break of {one.file} changes nothing")
    assert stale == []


def test_a_break_changes_its_tree_alone_and_a_stale_one_says_so(tmp_path):
    _, one = BREAKS[0]
    (tmp_path / one.file).parent.mkdir(parents=True)
    shutil.copy(laws.ROOT / one.file, tmp_path / one.file)
    before = source(one.file)
    one.apply(tmp_path)
    assert (tmp_path / one.file).read_text(encoding="utf-8") == before.replace(one.old, one.new)
    assert (laws.ROOT / one.file).read_text(encoding="utf-8") == before
    for gone in (one, laws.Break("registry/gone.py", "x", "y", ())):
        with pytest.raises(laws.StaleBreakError, match=re.escape(gone.file)):
            gone.apply(tmp_path)


def test_the_script_names_what_it_does_not_know():
    command = [sys.executable, str(laws.ROOT / "scripts/laws.py"), "-k", "no-such-law"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "No law's name holds 'no-such-law'.\n")
