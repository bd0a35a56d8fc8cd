"""The status of a figure is put into words in one place: the presenter and its own templates."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from frontend.presenters import figures
from hub.protocol import benchmark_metrics
from hub.protocol.figures import Compliance, Figure, Kind, Status, Unit, absent, count
from tests.contracts.sources import nodes
from tests.contracts.test_style import of_template

ROOT = Path(__file__).resolve().parents[2]
FRONTEND = ROOT / "frontend"
PRESENTER = FRONTEND / "presenters/figures.py"
BLOCKS = FRONTEND / "templates/figures"
PHRASES = re.compile(
    r"\b(?:not (?:yet )?(?:measured|counted|ranked)|outside the limits|nois(?:y|ily)|unverified|"
    r"unmeasured|not known to fit|no (?:accuracy|latency) is measured)\b",
    re.IGNORECASE,
)


def strings(text):
    """The strings of a module without its docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in nodes(text)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in nodes(text)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def test_no_template_has_words_for_the_status_of_a_figure():
    paths = [path for path in FRONTEND.rglob("*.html") if BLOCKS not in path.parents]
    assert len(paths) > 100
    hits = {
        path.relative_to(FRONTEND).as_posix(): PHRASES.findall(words)
        for path in paths
        for words in [of_template(path.read_text(encoding="utf-8"))]
        if PHRASES.search(words)
    }
    assert hits == {}


def test_no_other_module_of_the_pages_has_words_for_the_status_of_a_figure():
    hits = {
        path.relative_to(FRONTEND).as_posix(): [text for text in texts if PHRASES.search(text)]
        for path in FRONTEND.rglob("*.py")
        if path != PRESENTER
        for texts in [strings(path.read_text(encoding="utf-8"))]
        if any(map(PHRASES.search, texts))
    }
    assert hits == {}


@pytest.mark.parametrize("status", [Status.NOISY, Status.UNVERIFIED, Status.UNMEASURED])
def test_the_words_of_each_status_are_looked_for(status):
    value = None if status is Status.UNMEASURED else 1.0
    words = figures.sentence(Figure(value, Unit.MILLISECOND, status=status))
    assert PHRASES.search(words)
    assert PHRASES.search(of_template(f"<td>{words}</td>"))
    assert PHRASES.search(strings(f'"""Words."""\nWORDS = "{words}"')[0])
    assert strings(f'"""{words}"""') == []


LEVEL = re.compile(
    r"\b(?:80|95|99)(?:[\s\u202f]|&nbsp;|\{\w+\})*%\s*(?:interval|confidence|of predictions)|"
    r"(?:interval|ci)_?(?:80|95|99)(?![0-9])",
    re.IGNORECASE,
)
# What a stored record has as names of fields, which are a signed format.
FORMAT = re.compile(
    r"runners/engine/benchmark/|runners/benchmarks/records.py|hub/cli/bench/report.py"
)


def test_no_module_template_or_card_writes_the_level_of_an_interval():
    rooms = ("frontend", "hub", "metadata", "registry", "runners", "scripts")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    texts = {path: " ".join(strings(path.read_text(encoding="utf-8"))) for path in paths}
    templates = [*FRONTEND.rglob("*.html"), *(ROOT / "scripts/samples/cards").glob("*.md")]
    texts |= {path: path.read_text(encoding="utf-8") for path in templates}
    names = {path.relative_to(ROOT).as_posix(): text for path, text in texts.items()}
    assert len(names) > 1000
    hits = {
        name: LEVEL.findall(text)
        for name, text in names.items()
        if LEVEL.search(text)
        and name != "hub/protocol/intervals.py"
        and "/migrations/" not in name
        and not FORMAT.match(name)
    }
    assert hits == {}


@pytest.mark.parametrize(
    "text",
    [
        "95 % interval", "95\u202f% interval {interval}", "at 99 % confidence",
        "80% of predictions", "95{narrow}% interval", "accuracy_interval_95", "p50_ci95_ms",
    ],
)  # fmt: skip
def test_a_level_is_noticed(text):
    assert LEVEL.search(text)


def test_every_status_kind_unit_and_compliance_has_words():
    said = {
        figures.sentence(Figure(1.0, Unit.MILLISECOND, kind, status))
        for kind in (Kind.MEASURED, Kind.CLAIMED, Kind.PREDICTED, Kind.ESTIMATED)
        for status in (Status.ACCEPTED, Status.NOISY, Status.UNVERIFIED)
    }
    assert len(said) == 12
    assert figures.sentence(absent(Unit.BYTE)) == "not measured"
    assert figures.sentence(count(None)) == "not counted"
    assert figures.sentence(Figure(None, Unit.SHARE, status=Status.UNKNOWN)) == "unknown"
    assert all(figures.number(0.5, unit) for unit in Unit)
    assert {figures.compliance(one) for one in Compliance} == {
        "",
        "outside the limits",
        "not known to fit",
    }
    assert len({metric.column for metric in benchmark_metrics.ALL}) == len(benchmark_metrics.ALL)


def test_a_metric_is_declared_once():
    """Outside its declaration, its column and where it is computed or served, no file names it."""
    named = {
        path.relative_to(ROOT).as_posix()
        for room in ("frontend", "hub", "metadata", "registry", "runners")
        for pattern in ("*.py", "*.html")
        for path in (ROOT / room).rglob(pattern)
        if "migrations" not in path.parts and "hub/client/rest" not in path.as_posix()
        if re.search(r"\benergy_j\b", path.read_text(encoding="utf-8"))
    }
    assert named == {
        "hub/protocol/benchmark_metrics.py",
        "runners/api/benchmarks/measurements.py",
        "runners/engine/benchmark/summary.py",
        "runners/models/measurements.py",
    }
