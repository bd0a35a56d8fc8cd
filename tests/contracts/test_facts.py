"""A fact of the product stands in few files: where it is declared, and where it is computed.

Generated files, migrations, documents and tests do not count (docs/architecture.md).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("hub", "registry", "metadata", "runners", "frontend")
KINDS = {".py", ".html", ".js", ".ttl", ".rq", ".toml"}
# Name -> in how many files it may stand.
# Cards of models, as data.
CARDS = ROOT / "runners/starter/models.toml"
MOST_FILES = {"max_macs": 3, "max_memory": 3, "fails_on": 2, "pixel_format": 2, "personal_data": 20}


def product_files():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            is_generated = "migrations" in path.parts or "rest" in path.parts
            if path.suffix in KINDS and not is_generated and path != CARDS:
                yield path


@pytest.fixture(scope="module")
def texts():
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in product_files()
    }


@pytest.mark.parametrize("name", MOST_FILES)
def test_a_fact_stands_in_few_files(texts, name):
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    places = [path for path, text in texts.items() if whole.search(text)]
    assert places, f"{name} stands nowhere: remove it here"
    assert len(places) <= MOST_FILES[name], places
