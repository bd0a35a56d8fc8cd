#!/usr/bin/env python3
"""Draws docs/architecture.svg: the rooms, what lies in each, and which room imports which.

Order and folders come from the import contracts in pyproject.toml, the arrows from the imports.
Prints the drawing; with --write it replaces the file. A test fails where the file is out of date.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs/architecture.svg"
ROOMS = {
    "hub.cli": "the command",
    "hub.server": "processes, settings, web server",
    "frontend": "pages",
    "metadata": "models as RDF",
    "runners": "jobs, sandbox, ONNX engine",
    "registry": "rows, bytes, states, REST",
    "hub.client": "import hub",
    "hub.protocol": "what client and server share",
}
WIDTH, LEFT, PADDING = 880, 132, 14
CHIP, GAP, CHARACTER = 26, 8, 7.8
# What Django asks for lies in every room and tells nothing of it.
USUAL = frozenset({"apps", "management", "urls", "templatetags"})
STYLE = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px}"
    "svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}"
)


def main() -> int:
    """Print the drawing or write it."""
    drawing = draw()
    if "--write" in sys.argv[1:]:
        FILE.write_text(drawing, encoding="utf-8")
    else:
        sys.stdout.write(drawing)
    return 0


def draw() -> str:
    """The whole picture as SVG."""
    folders, edges = _folders(), _edges()
    parts, tops, y = [], {}, 8
    for room, words in ROOMS.items():
        chips, height = _chips(folders.get(room, []), y + 34)
        height += 44 if chips else 34
        tops[room] = y + height / 2
        parts += [
            (
                f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 8}" height="{height}" rx="10"'
                ' fill="none" stroke="currentColor" stroke-opacity=".55"/>'
            ),
            (
                f'<text x="{LEFT + PADDING}" y="{y + 22}" fill="currentColor"'
                f' font-weight="600">{room}'
                f'<tspan dx="10" font-weight="400" fill-opacity=".75">{words}</tspan></text>'
            ),
            *chips,
        ]
        y += height + 14
    parts += [_arrow(tops, upper, lower) for upper, lower in edges]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}"'
        f' viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{_words(edges)}">'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _folders() -> dict[str, list[str]]:
    """What lies in each room, from the highest layer to the lowest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    ordered: dict[str, list[str]] = {}
    for contract in settings["contracts"]:
        for room in contract.get("containers", []):
            layers = [name for layer in contract["layers"] for name in layer.split(" | ")]
            ordered[room] = [name for name in layers if name not in USUAL]
    return ordered


def _edges() -> list[tuple[str, str]]:
    graph = grimp.build_graph("hub", "registry", "metadata", "runners", "frontend", cache_dir=None)
    uses = set()
    for importer in graph.modules:
        upper = _room(importer)
        for imported in graph.find_modules_directly_imported_by(importer):
            lower = _room(imported)
            if upper and lower and upper != lower:
                uses.add((upper, lower))
    order = list(ROOMS)
    return sorted(uses, key=lambda edge: (order.index(edge[0]), order.index(edge[1])))


def _room(module: str) -> str:
    return next((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), "")


def _chips(names: list[str], top: float) -> tuple[list[str], float]:
    """Labels in rows, and how high the rows are together."""
    parts, x, y = [], LEFT + PADDING, top
    for name in names:
        width = round(len(name) * CHARACTER + 18)
        if x + width > WIDTH - PADDING - 8:
            x, y = LEFT + PADDING, y + CHIP + GAP
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{CHIP}" rx="6" fill="currentColor"'
            f' fill-opacity=".08"/><text x="{x + 9}" y="{y + 18}" fill="currentColor">{name}</text>'
        )
        x += width + GAP
    return parts, y + CHIP - top if names else 0


def _arrow(middles: dict[str, float], upper: str, lower: str) -> str:
    """A line on the left, further out and apart from the others the more rooms it passes."""
    order = list(ROOMS)
    far = order.index(lower) - order.index(upper)
    start, end = middles[upper] + 2 * far - 8, middles[lower] - 2 * far + 8
    bend = LEFT - 10 - 20 * far
    return (
        f'<path d="M{LEFT} {start}C{bend} {start} {bend} {end} {LEFT - 2} {end}m-6-3 6 3-6 3"'
        ' fill="none" stroke="currentColor" stroke-opacity=".5"/>'
    )


def _words(edges: list[tuple[str, str]]) -> str:
    uses: dict[str, list[str]] = {}
    for upper, lower in edges:
        uses.setdefault(upper, []).append(lower)
    return ". ".join(f"{upper} imports {', '.join(lower)}" for upper, lower in uses.items())


if __name__ == "__main__":
    sys.exit(main())
