"""Model cards as safe HTML.

The text is somebody's upload: it is rendered, sanitised, and only then rewritten, so that nothing
of it runs, nothing is fetched from elsewhere, and its headings and links fit into the page.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from html import escape
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urlsplit

import nh3
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import card_syntax, maths
from frontend.parts.card_syntax import Formulas
from frontend.parts.page_cache import Memory
from hub.protocol import problems
from registry.core import parsing

LONGEST_CARD = 400_000
# Code is coloured by regular expressions of others, some of which take the cube of its length; a
# formula's end is looked for from each of its beginnings.
SHORT_WITH_CODE = 1_000
_FENCE = re.compile(r"```|~~~|\$")
# Memory for rendered cards, in characters, of each web process.
_PAGES = Memory(32_000_000)
_BUSY = "The renderer is busy. Reload the page in a few seconds."
_NAMING_PARTS = 100

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TAGS = {
    *_HEADINGS,
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "dl", "dt", "em",
    "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small",
    "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "u", "ul", "var",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "id", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    "abbr": {"title"},
    "details": {"open"},
    "blockquote": {"class"},
    "li": {"class", "id"},
}
_NOTE_CLASSES = frozenset(kind for kind, _ in card_syntax.NOTES.values())
# Anchors that the parser gives footnotes, and nothing else.
_FOOTNOTE = re.compile(r"fn(?:ref)?[0-9]{1,6}(?::[0-9]{1,6})?")
# A list of contents is worth its room from this many headings and characters on.
_LEAST_CONTENTS, _LONG = 4, 2_500
_MOST_CONTENTS = 60
_VOID = {"br", "hr", "img"}
_TAG = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][a-zA-Z0-9]*)")
# Elements that hold nothing, and those that the next of their kind ends: they never pile up.
_ENDS_ITSELF = _VOID | {
    "area", "col", "input", "link", "meta", "source", "wbr", "p", "li", "dt", "dd",
    "option", "thead", "tbody", "tfoot", "tr", "td", "th",
}  # fmt: skip
_DEEPEST = 100
# Where a button to copy is written; not text of the card.
_COPY = "\ue002"
_COPY_BUTTON = (
    '<button type="button" class="copy bare" data-copy="" aria-label="Copy the code" hidden>'
    '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#copy"/></svg></button>'
)
# Sanitised HTML closes each heading, so this takes linear time.
_HEADING = re.compile(r"<h[1-6][ >].*?</h[1-6]>", re.DOTALL)
_TOKEN_CLASS = re.compile(r"[a-z]{1,2}[0-9]?")


def render(
    text: str, files: str, paths: frozenset[str] = frozenset(), name: str = "card"
) -> SafeString:
    """HTML of a card whose relative paths point below the address ``files``.

    ``name`` tells several texts of a page apart: their anchors begin with it.

    Pictures are shown when they are files of the version (``paths``); any other becomes a link.
    A card that takes too long is shown as plain text, and so is any while all children are busy.
    """
    text = text[:LONGEST_CARD].replace(_COPY, "")
    key = (hashlib.sha256(text.encode()).digest(), files, paths, name)
    page = _PAGES.get(key)
    if page is None:
        short = SHORT_WITH_CODE if _FENCE.search(text) else parsing.SHORT_CHARACTERS
        try:
            page = parsing.run(_markup, text, files, sorted(paths), name, short=short)
        except problems.TextTooCostly:
            page = plain(text, name, "It takes too long to render.")
        except problems.Unavailable:
            return plain(text, name, _BUSY)
        page = page.replace(_COPY, _COPY_BUTTON.format(static("frontend/icons.svg")))
        _PAGES.put(key, page)
    return mark_safe(page)  # noqa: S308 - sanitised and re-escaped by _Page


def is_blank(page: str) -> bool:
    """Whether a rendered card has nothing but headings, as one whose only line is a name."""
    return not page or not nh3.clean(_HEADING.sub("", page), tags={"img"}).strip()


def _markup(text: str, files: str, paths: list[str], name: str = "card") -> str:
    """What `render` gives, as plain text for the wire; in a child where it is long."""
    written, formulas = card_syntax.written(text)
    if _nests_too_deep(written):
        return plain(text, name, "Its HTML is nested too deeply to render.")
    markup = nh3.clean(
        written,
        tags=_TAGS,
        attributes={**_ATTRIBUTES, "span": {"class"}},
        attribute_filter=_only_known_values,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener ugc",
        strip_comments=True,
    )
    page = _Page(files, frozenset(paths), formulas, name)
    page.feed(markup.replace(_COPY, ""))
    page.close()
    contents = page.contents()
    if len(text) < _LONG or len(contents) < _LEAST_CONTENTS:
        return "".join(page.out)
    entries = "".join(
        f'<li><a href="#{name}-{escape(anchor)}">{words}</a></li>' for anchor, words in contents
    )
    return f"<details><summary>Contents</summary><ul>{entries}</ul></details>{''.join(page.out)}"


def plain(text: str, name: str, reason: str) -> SafeString:
    """A card that is not rendered, with one line that says why."""
    what = name.partition("-")[0]
    return format_html("<p>This {} is shown as plain text. {}</p><pre>{}</pre>", what, reason, text)


def _nests_too_deep(markup: str) -> bool:
    """Whether more tags are open at once than any card needs: sanitising takes the square of it."""
    open_ones: Counter[str] = Counter()
    depth = 0
    for match in _TAG.finditer(markup):
        tag = match["tag"].lower()
        if tag in _ENDS_ITSELF:
            continue
        if not match["end"]:
            open_ones[tag] += 1
            depth += 1
            if depth > _DEEPEST:
                return True
        elif open_ones[tag]:
            open_ones[tag] -= 1
            depth -= 1
    return False


def _only_known_values(tag: str, attribute: str, value: str) -> str | None:
    """Keep classes of coloured code, notes and tasks, and the anchors of footnotes alone."""
    if attribute == "id":
        return value if _FOOTNOTE.fullmatch(value) else None
    if attribute != "class":
        return value
    if tag == "blockquote":
        return value if value in _NOTE_CLASSES else None
    if tag == "li":
        return value if value == card_syntax.TASK else None
    return value if _TOKEN_CLASS.fullmatch(value) else None


class _Page(HTMLParser):
    """Rewrites sanitised HTML: heading levels, links, pictures, formulas, tables that scroll."""

    def __init__(
        self, files: str, paths: frozenset[str], formulas: Formulas, name: str = "card"
    ) -> None:
        super().__init__(convert_charrefs=True)
        self._name = name
        self.out: list[str] = []
        self._files = files
        self._paths = paths
        self._formulas = formulas
        self._blocks = 0
        self._outline: list[tuple[int, str, str]] = []
        self._levels: list[int] = []
        self._tables = 0
        self._anchors: set[str] = set()
        self._numbers: dict[str, int] = {}
        # Where what is still open was written: inline elements may hold headings, cells tables.
        self._headings: list[int] = []
        self._head_cells: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "img":
            self._picture(values)
        elif tag in _HEADINGS:
            self._headings.append(len(self.out))
            self.out.append(f"<{self._fit(int(tag[1]))}>")
        else:
            if tag == "table":
                self._tables += 1
                self.out.append(
                    f'<div class="scroll" role="region" tabindex="0" '
                    f'aria-label="Table {self._tables} of {self._title}">'
                )
            if tag == "th":
                self._head_cells.append(len(self.out))
            if tag == "pre":
                self._blocks += 1
                if self._blocks == 1:
                    self.out.append('<div class="code">')
            if tag == "a" and "href" in values:
                values["href"] = self._target(values["href"])
            if "id" in values:
                self._own_anchor(values)
            self._open(tag, values)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if tag in _HEADINGS:
            self._close_heading()
            return
        self.out.append(f"</{self._closed_cell() if tag == 'th' else tag}>")
        if tag == "table":
            self.out.append("</div>")
        if tag == "pre":
            self._blocks -= 1
            if self._blocks == 0:
                self.out.append(f"{_COPY}</div>")

    def handle_data(self, data: str) -> None:
        for part, formula in self._formulas.split(data):
            self.out.append(escape(part))
            if formula is not None:
                self.out.append(maths.markup(formula[0], block=formula[1]))

    def contents(self) -> list[tuple[str, str]]:
        """Anchor and words of the headings of the two highest levels that are no title."""
        levels = sorted({level for level, _, _ in self._outline})
        if levels and sum(level == levels[0] for level, _, _ in self._outline) == 1:
            levels = levels[1:]
        rows = [(anchor, words) for level, anchor, words in self._outline if level in levels[:2]]
        return rows[:_MOST_CONTENTS]

    @property
    def _title(self) -> str:
        return "the card" if self._name == "card" else self._name.replace("-", " ")

    def _open(self, tag: str, values: dict[str, str]) -> None:
        written = "".join(f' {name}="{escape(value)}"' for name, value in values.items())
        self.out.append(f"<{tag}{written}>")

    def _fit(self, level: int) -> str:
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        return f"h{min(2 + len(self._levels), 6)}"

    def _closed_cell(self) -> str:
        """What the innermost header cell is, now that it ends: without words it heads nothing."""
        if not self._head_cells:
            return "th"
        at = self._head_cells.pop()
        if any(self.out[place].strip() for place in range(at + 1, len(self.out))):
            return "th"
        self.out[at] = self.out[at].replace("<th", "<td", 1)
        return "td"

    def _close_heading(self) -> None:
        """End the innermost heading; its anchor, made of its words, is written into its opening."""
        if not self._headings:
            return
        at = self._headings.pop()
        name = self.out[at][1:-1]
        # A part of it is enough for a name: headings that hold each other stay linear.
        written = "".join(self.out[at + 1 : at + 1 + _NAMING_PARTS])
        stem = anchor = slug(re.sub(r"<[^>]*>", "", written))
        number = self._numbers.get(stem, 1)
        while anchor in self._anchors:
            number += 1
            anchor = f"{stem}-{number}"
        self._numbers[stem] = number
        words = re.sub(r"<[^>]*>", "", written).strip()
        if words:
            self._outline.append((int(name[1]), anchor, words))
        self._anchors.add(anchor)
        self.out[at] = f'<{name} id="{self._name}-{escape(anchor)}">'
        self.out.append(f"</{name}>")

    def _own_anchor(self, values: dict[str, str]) -> None:
        """Give a footnote its anchor, unless something before it has that."""
        anchor = slug(values.pop("id"))
        if anchor not in self._anchors:
            self._anchors.add(anchor)
            values["id"] = f"{self._name}-{anchor}"

    def _target(self, address: str) -> str:
        if address.startswith("#"):
            return f"#{self._name}-{slug(unquote(address[1:]))}"
        path = self._inside(address)
        return address if path is None else self._files + quote(path)

    def _inside(self, address: str) -> str | None:
        """Path inside the version that a relative address names; None for any other address."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or address.startswith("/") or not parts.path:
            return None
        path = posixpath.normpath(unquote(parts.path))
        return None if path.startswith("..") or path == "." else path

    def _picture(self, values: dict[str, str]) -> None:
        source, words = values.get("src", ""), values.get("alt", "")
        path = self._inside(source)
        if path is not None and path in self._paths:
            values["src"] = self._files + quote(path)
            self._open("img", {"alt": "", **values, "loading": "lazy"})
        elif path is None and urlsplit(source).scheme in {"http", "https"}:
            host = urlsplit(source).hostname or "elsewhere"
            self._open("a", {"href": source, "rel": "nofollow noopener ugc"})
            self.out.append(f"{escape(words) or 'Picture'} (picture on {escape(host)})</a>")
        else:
            self.out.append(escape(words))


def slug(words: str) -> str:
    """Name of a heading's anchor."""
    return re.sub(r"[^\w]+", "-", words.lower()).strip("-") or "section"
