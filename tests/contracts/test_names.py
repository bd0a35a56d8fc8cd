"""Names are nouns of the field: no participles, no metaphors, no `one` (docs/style.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.contracts.sources import nodes

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("frontend", "hub", "metadata", "registry", "runners", "scripts")
PARTICIPLES = frozenset({
    "asked", "chosen", "counted", "found", "given", "kept", "known", "listed", "made", "said",
    "seen", "shown", "taken", "told", "wanted",
})  # fmt: skip
# Metaphors that were names once; docs/style.md says what to write instead.
METAPHORS = frozenset({
    "ascent", "barren", "bell", "climb", "conveyor", "court", "deadly", "helpless", "ladder", "owe",
    "owed", "ring", "rung", "rungs", "teller", "unsteady", "untold",
})  # fmt: skip
# Packages that still have loop variables called `one`.
LOOPING = ("hub/client/rest/",)
# Fields whose names are those of stored, cached or published data, or of a form.
FIELDS = {
    "frontend/pages/cards/editor.py": {"seen"},
    "frontend/pages/drafts/views.py": {"seen"},
    "frontend/pages/tryouts/page.py": {"said"},
    "hub/client/rest/benchmarks.py": {"told"},
    "hub/client/rest/shared.py": {"chosen"},
    "hub/protocol/proofs.py": {"taken"},
    "metadata/shapes/validator.py": {"wanted"},
    "registry/protocols/onnx_hub/manifest_cache.py": {"seen"},
    "runners/api/benchmarks/measurements.py": {"told"},
    "runners/engine/convert/recipes.py": {"kept"},
    "runners/engine/upgrades/answers.py": {"taken"},
}


def loops_over_one(text: str) -> bool:
    """Whether a loop, comprehension or lambda calls what it gets `one`."""
    targets: list[ast.AST] = []
    for node in nodes(text):
        match node:
            case ast.For(target=target) | ast.comprehension(target=target):
                targets += ast.walk(target)
            case ast.Lambda(args=arguments):
                targets += arguments.args
    return any(
        getattr(target, "id", None) == "one" or getattr(target, "arg", None) == "one"
        for target in targets
    )


def participles(text: str) -> set[str]:
    """Participles and metaphors that a module uses for values, parameters and functions."""
    names = set()
    for node in nodes(text):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
    return {name for name in names if name.strip("_").lower() in PARTICIPLES | METAPHORS}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("found = 1", {"found"}),
        (
            "def told(asked, /, *given, wanted, **said): ...",
            {"told", "asked", "given", "wanted", "said"},
        ),
        ("KEPT: int = 1\nself._seen = 2", {"KEPT", "_seen"}),
        ("for known in rows: [made for made in known]", {"known", "made"}),
        ("is_known = answer.found\nask(given=found_rows)", set()),
    ],
)
def test_participles(text, names):
    assert participles(text) == names


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("for one in rows: pass", True),
        ("[row for place, one in enumerate(rows)]", True),
        ("max(rows, key=lambda one: one.size)", True),
        ("def plural(count, one): ...", False),
        ("for one_row in rows: one = one_row", False),
    ],
)
def test_loops_over_one(text, is_wrong):
    assert loops_over_one(text) is is_wrong


def modules(room: str) -> dict[str, str]:
    """Path -> text of each module of a room, without migrations."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / room).rglob("*.py"))
        if "migrations" not in path.relative_to(ROOT).parts
    }


@pytest.mark.parametrize("room", ROOMS)
def test_no_loop_variable_is_called_one(room):
    assert [
        name
        for name, text in modules(room).items()
        if not name.startswith(LOOPING) and loops_over_one(text)
    ] == []


def test_packages_are_listed_only_while_they_have_such_names():
    texts = {name: text for room in ROOMS for name, text in modules(room).items()}
    wrong = {name for name, text in texts.items() if loops_over_one(text)}
    assert [
        package for package in LOOPING if not any(name.startswith(package) for name in wrong)
    ] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_value_is_called_by_a_participle(room):
    names = {name: participles(text) for name, text in modules(room).items()}
    expected = {name: fields for name, fields in FIELDS.items() if name.startswith(f"{room}/")}
    assert {name: words for name, words in names.items() if words} == expected
