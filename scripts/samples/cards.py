"""Fills the numbers of training.json into a sample's card.

Prose is written by hand in `cards/<sample>.md`; a number stands there as `${metrics.accuracy}`, so
that no card can say what was not measured. Standard library only: the tests use it too.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from string import Template

TEMPLATES = Path(__file__).parent / "cards"


class _CardTemplate(Template):
    idpattern = r"(?a:[A-Za-z0-9_][A-Za-z0-9_./-]*)"


def _flatten(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        flat: dict[str, str] = {}
        for key, inner in value.items():
            flat |= _flatten(inner, f"{prefix}.{key}" if prefix else key)
        return flat
    if isinstance(value, list):
        flat = {prefix: json.dumps(value)}
        for index, inner in enumerate(value):
            flat |= _flatten(inner, f"{prefix}.{index}")
        return flat
    return {prefix: str(value)}


def _wrap(text: str) -> str:
    """Fill the lines of plain paragraphs again; numbers are rarely as long as their names."""
    _, front_matter, prose = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    blocks = re.split(r"(\n\n+|```.*?```)", prose, flags=re.DOTALL)
    filled = [
        textwrap.fill(block, 100, break_long_words=False, break_on_hyphens=False)
        if re.match(r"\w|\*\*|`[^`]", block)
        else block
        for block in blocks
    ]
    return f"---\n{front_matter}---\n{''.join(filled)}".rstrip() + "\n"


def render(folder: Path) -> str:
    """Return the card of the sample in `folder`; KeyError names a number that was not measured."""
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    template = (TEMPLATES / f"{record['sample']}.md").read_text(encoding="utf-8")
    return _wrap(_CardTemplate(template).substitute(_flatten(record)))


def write(folder: Path) -> None:
    """Write `README.md` in `folder`."""
    (folder / "README.md").write_text(render(folder), encoding="utf-8")
