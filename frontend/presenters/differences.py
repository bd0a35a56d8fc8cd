"""The difference between two graphs in words; what its job found is data of a hostile process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import addresses, formatting
from frontend.parts.svg import barcode
from frontend.presenters import version_head
from hub.protocol import stored
from hub.protocol.facts import read_barcode
from registry.models import Variant, Version
from runners.engine.graphs.changes import Change

LIMIT = 50
PAGE = 200
LISTS = {"changed": "Changed", "added": "Added", "removed": "Removed"}
ALONE = 2
MARKS = {1: "changed", ALONE: "alone"}
BY = {"name": "by name", "output": "by output", "structure": "by structure"}
_WHATS = {
    "operator": "operator",
    "attribute": "",
    "shape": "shape of",
    "weight": "weights",
    "input": "input",
    "outputs": "outputs",
}


def read(
    facts: Mapping[str, Any], query: Mapping[str, str], parameters: Mapping[str, str]
) -> dict[str, Any]:
    """A difference from the report of its job; ``parameters`` are those of its address."""
    counts = stored.mapping(facts.get("counts"))
    numbers = {name: stored.count(counts.get(name)) for name in ("added", "removed", "changed")}
    after = stored.count(counts.get("after"))
    choice = query.get("list", "")
    names = [choice] if choice in LISTS else list(LISTS)
    number = addresses.page(query.get("page", ""))
    return {
        "before": stored.count(counts.get("before")),
        "after": after,
        "same": max(0, after - numbers["added"] - numbers["changed"]),
        "renamed": stored.count(counts.get("renamed")),
        "sentence": _sentence(numbers),
        "bars": (_band(facts.get("before")), _band(facts.get("after"))),
        "lists": tuple(
            _node_list(
                name, facts.get(name), numbers[name], parameters, number if choice == name else 0
            )
            for name in names
        ),
        "model": tuple(
            (
                f"operator set {change.name}" if change.what == "opset" else change.name,
                change.before or "none",
                change.after or "none",
            )
            for change in map(Change.read, stored.rows(facts.get("model")))
        ),
        "weights": _weights(stored.mapping(facts.get("weights"))),
        "matched": ", ".join(
            f"{formatting.grouped(stored.count(counts.get(f'by_{how}')))} {words}"
            for how, words in BY.items()
            if counts.get(f"by_{how}")
        ),
        "inferred": facts.get("inferred") is True,
    }


def address(version: Version, request: Mapping[str, Any]) -> str:
    """The page of the difference that a job makes, from its input."""
    model = version.model
    earlier = request.get("against_version")
    place = [model.namespace.slug, model.name, version.number]
    if not isinstance(earlier, int):
        return reverse("network", args=place)
    parts = {"variant": request.get("variant"), "with": request.get("against_variant")}
    return addresses.join(reverse("network-difference", args=[*place, earlier]), parts)


def between(other: Version, before: Variant, version: Version, after: Variant) -> str:
    """The page of the difference from a variant of one version to a variant of another."""
    is_other = other.pk == version.pk or before.name != after.name
    parts = {
        "variant": after.name if version_head.choice_of(version, after) else "",
        "with": before.name if is_other else "",
    }
    return addresses.join(version_head.place(version, "network-difference", other.number), parts)


def earlier(rows: Iterable[Version]) -> dict[int, int]:
    """The released version before each of these, newest first, as far as they are listed."""
    numbers = [row.number for row in rows if row.is_served]
    return dict(pairwise(numbers))


def _sentence(numbers: Mapping[str, int]) -> str:
    if not any(numbers.values()):
        return "No nodes differ."
    parts = [
        f"{formatting.plural(number, 'node')} {name}" for name, number in numbers.items() if number
    ]
    return ", ".join(parts) + "."


def _node_list(
    name: str, value: Any, count: int, parameters: Mapping[str, str], number: int
) -> dict[str, Any]:
    """A whole page of a list that was asked for, else the beginning of it."""
    rows = stored.rows(value)
    start, stop = ((number - 1) * PAGE, number * PAGE) if number else (0, LIMIT)
    here = {**parameters, "list": name}
    more = not number and len(rows) > LIMIT
    return {
        "name": name,
        "title": LISTS[name],
        "side": "before" if name == "removed" else "after",
        "count": count,
        "stored": len(rows),
        "rows": tuple(_row(row) for row in rows[start:stop]),
        "more_url": f"?{urlencode(here)}" if more else "",
        "next_url": f"?{urlencode({**here, 'page': number + 1})}" if number and rows[stop:] else "",
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    domain, op = str(row.get("domain", "")), str(row.get("op", ""))
    was = str(row.get("was", ""))
    called = [
        f"{domain}.{op}" if domain else op,
        str(row.get("name", "")),
        f"was {was}" if was else "",
        str(row.get("path", "")),
    ]
    outputs = row.get("out")
    first = outputs[0] if isinstance(outputs, list) and outputs else ()
    names = [str(part) for part in first] if isinstance(first, list) else []
    lines = [_change(Change.read(change)) for change in stored.rows(row.get("changes"))]
    more = stored.count(row.get("more"))
    return {
        "node": "\n".join(part for part in called if part),
        "output": " ".join(names),
        "by": BY.get(str(row.get("by", "")), ""),
        "changes": "\n".join([*lines, *([f"and {more} more"] if more else [])]),
        "shown_by": names[0] if names and not row.get("path") else "",
    }


def _change(change: Change) -> str:
    before, after = change.before, change.after
    subject = f"{_WHATS.get(change.what, change.what)} {change.name}".strip()
    if change.has_norm:
        moved = "values changed"
        if change.norm is not None:
            moved = f"changed by {formatting.figure(change.norm)} of their norm"
        shape = after if before == after else f"{before or 'none'} → {after or 'none'}"
        return f"{subject} {shape}".strip() + f": {moved}"
    return f"{subject}: {before or 'none'} → {after or 'none'}"


def _weights(weights: Mapping[str, Any]) -> str:
    compared, equal = stored.count(weights.get("compared")), stored.count(weights.get("equal"))
    if not compared:
        return "No common weights."
    words = f"{formatting.grouped(equal)} of {formatting.plural(compared, 'pair')} of weights equal"
    if equal == compared:
        return f"{words}."
    norm = weights.get("norm")
    if stored.is_number(norm) and norm > 0:
        return f"{words}; overall change: {formatting.figure(norm)} of their norm."
    return f"{words}."


def _band(value: Any) -> SafeString:
    """A graph's barcode, and below it the cells in which something is other."""
    side = stored.mapping(value)
    cells, marks = read_barcode(side), side.get("marks")
    if not cells:
        return mark_safe("")
    strip: dict[str, list[str]] = {}
    for place, mark in enumerate(marks if isinstance(marks, list) else []):
        if mark in MARKS and place < len(cells):
            height = "1" if mark == ALONE else ".5"
            strip.setdefault(MARKS[mark], []).append(f"M{place} 0h1v{height}h-1z")
    paths = format_html_join(
        "", '<path class="mark-{}" d="{}"/>', ((name, "".join(d)) for name, d in strip.items())
    )
    return format_html(
        '{}<svg class="marks" viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false">{}</svg>',
        barcode.draw(cells),
        len(cells),
        paths,
    )
