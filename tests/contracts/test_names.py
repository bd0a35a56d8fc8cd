"""Names of values and functions are nouns of the field, never bare participles (docs/style.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("frontend", "hub", "metadata", "registry", "runners", "scripts")
PARTICIPLES = frozenset({
    "asked", "chosen", "counted", "found", "given", "kept", "known", "listed", "made", "said",
    "seen", "told", "wanted",
})  # fmt: skip
# Words that are still names in some places, and those places.
REST = frozenset({"shown", "taken"})
REST_IN = ("frontend/", "runners/queue/")
# Fields whose names are those of stored, cached or published data, or of a form.
FIELDS = {
    "frontend/pages/cards/editor.py": {"seen"},
    "frontend/pages/drafts/views.py": {"seen"},
    "frontend/pages/graphs/network.py": {"found"},
    "frontend/pages/tryouts/page.py": {"said"},
    "frontend/presenters/differences.py": {"known"},
    "hub/client/rest/benchmarks.py": {"told"},
    "hub/client/rest/shared.py": {"chosen"},
    "hub/protocol/proofs.py": {"taken"},
    "metadata/shapes/validator.py": {"wanted"},
    "registry/protocols/onnx_hub/manifest_cache.py": {"seen"},
    "runners/api/measurements.py": {"told"},
    "runners/engine/convert/recipes.py": {"kept"},
    "runners/engine/runs/answers.py": {"taken"},
}


def participles(text: str, words: frozenset[str] = PARTICIPLES) -> set[str]:
    """Those of the words that a module gives to values, parameters, attributes and functions."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
    return {name for name in names if name.strip("_").lower() in words}


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


@pytest.mark.parametrize("room", ROOMS)
def test_no_value_is_called_by_a_participle(room):
    paths = {
        path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / room).rglob("*.py"))
    }
    names = {
        name: participles(
            path.read_text(encoding="utf-8"),
            PARTICIPLES if name.startswith(REST_IN) else PARTICIPLES | REST,
        )
        for name, path in paths.items()
        if "migrations" not in path.relative_to(ROOT).parts
    }
    expected = {name: fields for name, fields in FIELDS.items() if name.startswith(f"{room}/")}
    assert {name: words for name, words in names.items() if words} == expected
