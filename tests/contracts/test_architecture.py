"""The drawing of the architecture shows the rooms and imports as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_drawing_is_what_the_imports_say():
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "scripts/architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawing = (ROOT / "docs/architecture.svg").read_text(encoding="utf-8")
    assert drawing == module.draw(), "run scripts/architecture.py --write"
    assert ">registry<" in drawing
    assert "registry imports hub.protocol" in drawing
