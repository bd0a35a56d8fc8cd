"""No page, message, help text, document or docstring uses a word that `docs/style.md` rules out.

`banned_words.txt` lists the words, `unstyled_files.txt` the files that still have some of them. Of
docstrings the first lines are searched, except in packages that are not rewritten yet.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.contracts.sources import nodes
from tests.contracts.test_documentation import ROOT
from tests.contracts.test_hints import messages

HERE = Path(__file__).parent
# These quote what they rule out, or say what was written at the time.
EXEMPT = {"docs/style.md", "CHANGELOG.md"}
TEMPLATE_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
SHOWN_ATTRIBUTE = re.compile(
    r"\b(?:aria-label|alt|placeholder|title|data-(?:close|frame|open|word))=\"([^\"]*)\""
)
HTML = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
# Packages with banned words in first lines of docstrings.
UNDESCRIBED = (
    "frontend/pages/benchmarks/", "frontend/pages/catalogue/", "frontend/pages/compare/",
    "frontend/presenters/", "hub/client/rest/", "hub/client/variants.py", "hub/protocol/",
    "registry/api/", "registry/catalogue/", "runners/api/", "runners/models/",
)  # fmt: skip
COMMENT = re.compile(r"^\s*//[^\n]*|/\*.*?\*/", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"\"([^\"\n]*)\"|`([^`]*)`")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def lines(name: str) -> list[str]:
    """The entries of a list beside this file."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


BANNED = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(r"\s+".join(map(re.escape, line.split())) for line in lines("banned_words.txt"))
    + r")(?![\w-])",
    re.IGNORECASE,
)


def of_template(text: str) -> str:
    """What a template shows: its text, shown attributes, and words that its tags put in."""
    quoted = (said for tag in TEMPLATE_TAG.findall(text) for said in QUOTED.findall(tag))
    text = TEMPLATE_TAG.sub("…", text)
    shown = SHOWN_ATTRIBUTE.findall(text)
    return "\n".join([HTML.sub(" ", text), *shown, *("".join(said) for said in quoted)])


def phrases(texts) -> str:
    """Those of several words: one word alone is a name of the code."""
    return "\n".join(text for text in texts if " " in text.strip())


def of_script(text: str) -> str:
    """The phrases in the strings of a script."""
    return phrases("".join(said) for said in QUOTED.findall(COMMENT.sub("", text)))


def of_document(text: str) -> str:
    """The prose of a document, without code."""
    return CODE.sub("…", text)


def readable() -> dict[str, str]:
    """Path -> what people read of each file that has a part in the interface."""
    kinds = (
        ("frontend/**/templates/**/*.html", of_template),
        ("frontend/static/frontend/*.js", of_script),
        ("docs/*.md", of_document),
        ("docs/openapi.yaml", str),
        ("*.md", of_document),
    )
    read = {
        path.relative_to(ROOT).as_posix(): shown(path.read_text(encoding="utf-8"))
        for pattern, shown in kinds
        for path in sorted(ROOT.glob(pattern))
    }
    modules: dict[str, list[str]] = {}
    for place, text in messages():
        if "migrations" not in place.parts:
            modules.setdefault(place.as_posix(), []).append(text)
    read |= {name: phrases(texts) for name, texts in modules.items()}
    return {name: text for name, text in read.items() if name not in EXEMPT}


@pytest.fixture(scope="module")
def read_texts():
    """Made once and late, as every process that collects tests imports this file."""
    return readable()


@pytest.fixture(scope="module")
def hits(read_texts):
    """Path -> the banned words in it."""
    return {
        name: sorted({" ".join(hit.lower().split()) for hit in BANNED.findall(text)})
        for name, text in read_texts.items()
    }


UNSTYLED = lines("unstyled_files.txt")


@pytest.mark.parametrize(
    ("read", "text", "hits"),
    [
        (of_template, '<p class="told">{% if told %}{{ told }}{% endif %}</p>', 0),
        (of_template, "<b>Somebody</b>", 1),
        (of_template, '<a aria-label="Let Ada in"{% url "told" %}>is\n  over</a>', 2),
        (of_template, '{{ size|default:"not told" }}', 1),
        (of_script, 'const told = part("told"); // nobody', 0),
        (of_script, 'note("Nobody asked"); say(`${name} is told`)', 2),
        (of_document, "`told`\n```\nwhom\n```\nThe untold fold-told", 0),
    ],
)
def test_only_what_is_read_is_searched(read, text, hits):
    assert len(BANNED.findall(read(text))) == hits


def test_everything_that_people_read_is_searched(read_texts):
    assert {
        "docs/openapi.yaml",
        "docs/quickstart.md",
        "README.md",
        "frontend/presenters/measurements.py",
        "frontend/static/frontend/upload.js",
        "frontend/templates/models/overview.html",
        "hub/protocol/problems.py",
    } <= {name for name, text in read_texts.items() if text.strip()}


def test_no_banned_word(hits):
    banned = {name: words for name, words in hits.items() if words and name not in UNSTYLED}
    assert banned == {}, "see docs/style.md"


def test_files_with_banned_words_are_listed_only_while_they_have_some(hits):
    assert [name for name in UNSTYLED if not hits.get(name)] == []


def first_lines(text: str) -> list[str]:
    """The first line of each docstring of a module."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    places = (node for node in nodes(text) if isinstance(node, documented))
    docstrings = (ast.get_docstring(node) for node in places)
    return [docstring.partition("\n")[0] for docstring in docstrings if docstring]


@pytest.fixture(scope="module")
def described():
    """Path -> first lines of docstrings that have a banned word."""
    rooms = ("frontend", "hub", "metadata", "registry", "runners", "scripts")
    paths = [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]
    return {
        path.relative_to(ROOT).as_posix(): [
            line for line in first_lines(path.read_text(encoding="utf-8")) if BANNED.search(line)
        ]
        for path in paths
        if "migrations" not in path.parts
    }


def test_first_lines():
    text = '"""Told."""\nclass A:\n    """One.\n\n    Two."""\n    def b(self): "c"\n'
    assert first_lines(text) == ["Told.", "One.", "c"]


def test_no_docstring_begins_with_a_banned_word(described):
    wrong = {
        name: found
        for name, found in described.items()
        if found and not name.startswith(UNDESCRIBED)
    }
    assert wrong == {}, "see docs/style.md"


def test_packages_are_listed_only_while_docstrings_have_banned_words(described):
    wrong = [name for name, found in described.items() if found]
    assert [
        package for package in UNDESCRIBED if not any(name.startswith(package) for name in wrong)
    ] == []
