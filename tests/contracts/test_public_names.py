"""The sample program calls everything that `hub` offers, and type checkers read it strictly."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import hub

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples" / "python" / "every_function.py"


def test_the_sample_uses_every_public_name():
    attributes = {
        node.attr
        for node in ast.walk(ast.parse(SAMPLE.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hub"
    }
    assert set(hub.__all__) - attributes == set()


def test_mypy_reads_the_sample_strictly():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert SAMPLE.parent.relative_to(ROOT).as_posix() in settings["files"]
    assert (ROOT / "hub" / "py.typed").exists()
