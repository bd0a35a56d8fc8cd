"""One file of a version as a page: its text in colours and lines, its weights in figures.

Text is shown, never run: whatever a file says, the page has it escaped, and what is coloured is cut
first, since its author may have written it to be slow to read. Figures of tensors come from a
process that had opened the upload: what has another shape than expected is left out.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from frontend.parts import addresses, formatting
from frontend.parts.page_cache import Memory
from hub.protocol import problems, stored
from hub.protocol.facts import WeightType
from registry.core import parsing
from registry.models import File, Variant
from registry.storage.files import store

# What of a text is read at all, and what one page shows of it.
MOST_BYTES = 4_000_000
LINES = 400
PAGE_BYTES = 60_000
# More is shown without colours: a page has so many elements, and a reader of code so much time.
MOST_COLOURED = 20_000
MOST_TOKENS = 1_000
# A lexer's regular expressions may take the cube of a text: a longer one is drawn by a child.
_SHORT = 1_000
# Memory for texts in colours, in characters, of each web process.
_DRAWN = Memory(8_000_000)
TENSORS = 100
_LEXERS = {
    "json": "json",
    "jsonl": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "py": "python",
    "toml": "toml",
    "ini": "ini",
    "cfg": "ini",
    "md": "markdown",
    "sh": "bash",
    "ttl": "turtle",
    "xml": "xml",
    "html": "html",
    "js": "javascript",
    "c": "c",
    "cpp": "cpp",
    "proto": "protobuf",
}
_PLAIN = frozenset({"txt", "csv", "tsv", "log", "rst", "bib", "cff", "vocab", "labels", "names"})
_NAMES = frozenset({"license", "licence", "readme", "notice", "authors", "changelog", "citation"})
_PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "ico", "avif"})
_LABELS = re.compile(r"(^|[._-])(labels?|classes|synset|categories|names)([._-]|$)", re.IGNORECASE)
_TOKEN = re.compile(r"<span")


def is_picture(path: str) -> bool:
    """Whether a file is a picture by its name; the hub shows none of them in a page."""
    return _ending(path) in _PICTURES


def may_be_text(path: str) -> bool:
    """Whether a file's name is that of a text."""
    stem = posixpath.basename(path).partition(".")[0].lower()
    return (
        _ending(path) in _LEXERS
        or _ending(path) in _PLAIN
        or ("." not in posixpath.basename(path) and (stem in _NAMES or bool(_LABELS.search(stem))))
    )


def text(file: File, page: str) -> dict[str, Any] | None:
    """A page of a text; None for what is none, whatever its name says.

    Labels are numbered from 0, as programs know classes; other lines from 1.
    """
    with store().open(file.blob_id) as stored:
        raw = stored.read(MOST_BYTES + 1)
    whole = len(raw) <= MOST_BYTES
    raw = raw[:MOST_BYTES]
    if b"\0" in raw:
        return None
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if whole or error.start < len(raw) - 4:
            return None
        decoded = raw[: error.start].decode("utf-8-sig")
    lines = decoded.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    pages = max(1, -(-len(lines) // LINES))
    number = addresses.page(page, pages)
    start = (number - 1) * LINES
    page_lines = lines[start : start + LINES]
    clipped, budget = [], PAGE_BYTES
    for line in page_lines:
        clipped.append(line if len(line) <= budget else line[: max(0, budget)] + " …")
        budget -= len(clipped[-1])
    labels = bool(_LABELS.search(posixpath.basename(file.path))) and _ending(file.path) not in (
        "json",
        "yaml",
        "yml",
        "py",
        "csv",
        "tsv",
        "md",
    )
    from_ = start if labels else start + 1
    return {
        "body": _coloured("\n".join(clipped), _ending(file.path)),
        "numbers": "\n".join(str(from_ + index) for index in range(len(clipped))),
        "first": start + 1,
        "last": start + len(clipped),
        "total": len(lines),
        "labels": labels,
        "previous": number - 1,
        "next": number + 1 if number < pages else 0,
        "cut": not whole
        or any(len(line) > len(cut) for line, cut in zip(page_lines, clipped, strict=True)),
    }


def _coloured(text: str, ending: str) -> SafeString:
    name = _LEXERS.get(ending, "")
    if not name or len(text) > MOST_COLOURED:
        return SafeString(escape(text))
    key = (hashlib.sha256(text.encode()).digest(), name)
    drawn = _DRAWN.get(key)
    if drawn is None:
        try:
            drawn = parsing.run(_drawn, text, name, short=_SHORT)
        except problems.TextTooCostly:
            drawn = escape(text)
        except problems.Unavailable:
            return SafeString(escape(text))
        _DRAWN.put(key, drawn)
    return mark_safe(drawn)  # noqa: S308 - every token was escaped


def _drawn(text: str, name: str) -> str:
    """HTML of a text in the colours of a lexer; without them where they are too many."""
    try:
        # Without these options a lexer takes empty lines away, and numbers go astray.
        lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    drawn = str(highlight(text, lexer, HtmlFormatter(nowrap=True)))
    return escape(text) if len(_TOKEN.findall(drawn)) > MOST_TOKENS else drawn.rstrip("\n")


# --- tensors -------------------------------------------------------------------------------------


def tensors(table: Mapping[str, Any], page: str) -> tuple[list[dict[str, Any]], int, int]:
    """A page of the tensors of a list, how many there are, and the next page's number or 0."""
    rows = stored.rows(table.get("tensors"))
    number = addresses.page(page, -(-len(rows) // TENSORS))
    start = (number - 1) * TENSORS
    more = number + 1 if start + TENSORS < len(rows) else 0
    return (
        [_tensor(row) for row in rows[start : start + TENSORS]],
        stored.count(table.get("count")) or len(rows),
        more,
    )


def _tensor(row: Mapping[str, Any]) -> dict[str, Any]:
    elements, zeros = stored.count(row.get("elements")), stored.whole(row.get("zeros"))
    notes = [str(row["why"])] if isinstance(row.get("why"), str) else []
    for key, words in (("nan", "not a number"), ("infinite", "infinite")):
        if number := stored.count(row.get(key)):
            notes.append(f"{formatting.grouped(number)} {words}")
    sizes = map(str, stored.wholes(row.get("shape")))
    return {
        "name": str(row.get("name") or "")[:200],
        "kind": str(row.get("dtype") or "unknown")[:60],
        "shape": f"[{', '.join(sizes)}]",
        "least": formatting.figure(row.get("min")),
        "most": formatting.figure(row.get("max")),
        "mean": formatting.figure(row.get("mean")),
        "zeros": "" if zeros is None or elements <= 0 else formatting.share(zeros / elements),
        "note": ", ".join(notes)[:300],
        "bars": histogram(row.get("bins")),
    }


def histogram(bins: Any) -> SafeString:
    """Bars of one height for the fullest range; the smallest and largest value stand beside it."""
    counts = [whole for whole in stored.wholes(bins) if whole >= 0]
    most = max(counts, default=0)
    if len(counts) < 2 or not most:
        return mark_safe("")
    paths = []
    for index, count in enumerate(counts[:64]):
        if count:  # a range with a single value is seen, too
            high = max(count / most * 24, 0.6)
            paths.append(f"M{index} 24v-{high:.1f}h.9v{high:.1f}z")
    return format_html(
        '<svg class="bins" viewBox="0 0 {} 24" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false"><path d="{}"/></svg>',
        min(len(counts), 64),
        "".join(paths),
    )


# --- weights -------------------------------------------------------------------------------------


def weights(path: str, variants: Iterable[Variant]) -> dict[str, Any] | None:
    """What is stored of a model file's weights: their types, and the files they lie in."""
    for variant in variants:
        if variant.entry.path != path:
            continue
        facts = variant.typed_facts
        if facts.weights is None:
            continue
        return {
            "rows": _types(facts.weights.by_type),
            "parts": tuple(
                (
                    file.path,
                    formatting.plural(file.tensors, "tensor"),
                    formatting.size(file.bytes),
                )
                for file in facts.external_files
            ),
            "count": formatting.grouped(facts.weights.count),
            "size": formatting.size(facts.weights.bytes),
        }
    return None


def holders(path: str, variants: Iterable[Variant]) -> list[tuple[str, str, str, str]]:
    """The model files whose weights lie in this one: path, variant, tensors, and which bytes."""
    return [
        (
            variant.entry.path,
            variant.name,
            formatting.plural(file.tensors, "tensor"),
            f"{formatting.grouped(file.first)} to {formatting.grouped(file.end)}",
        )
        for variant in variants
        for file in variant.typed_facts.external_files
        if file.path == path
    ]


def _types(by_type: Iterable[WeightType]) -> tuple[tuple[str, str, str, str, str], ...]:
    """Type, tensors, elements, bytes and share of the bytes; the most bytes first."""
    rows = sorted(by_type, key=lambda row: (-row.bytes, row.dtype))
    total = sum(row.bytes for row in rows)
    return tuple(
        (
            row.dtype,
            formatting.grouped(row.count),
            formatting.grouped(row.elements),
            formatting.size(row.bytes),
            f"{row.bytes / total * 100:.2f}" if total else "0",
        )
        for row in rows[:40]
    )


def _ending(path: str) -> str:
    return posixpath.splitext(path)[1].lower().lstrip(".")
