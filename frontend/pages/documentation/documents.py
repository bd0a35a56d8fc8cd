"""The folder `docs` as pages: read once, rendered once, searched by section.

The text is the project's own, so it is rendered as it is; links between its files become links
between pages. `docs/README.md` is the first page, and its list of links is the navigation.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from posixpath import join, normpath
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

from frontend.parts.card_syntax import coloured
from hub.protocol.capabilities import CAPABILITIES

# Beside the package, in a checkout and in the wheel alike.
FOLDER = Path(__file__).resolve().parents[3] / "docs"
DECISIONS = "decisions"
RESULTS = 40
_SNIPPET_CHARACTERS = 160
_PARSER = (
    MarkdownIt("commonmark", {"highlight": coloured})
    .enable("table")
    .use(anchors_plugin, max_level=4)
)


class Heading(NamedTuple):
    """A heading of a page, with the name that a link to it ends with."""

    level: int
    text: str
    anchor: str


class Section(NamedTuple):
    """What stands below a heading, as plain text."""

    heading: Heading
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A page: ``name`` is its path in the folder, without `.md`; empty for the first page."""

    name: str
    title: str
    html: SafeString
    sections: tuple[Section, ...]

    @property
    def address(self) -> str:
        """Where the hub serves it."""
        return address(self.name)

    @property
    def headings(self) -> list[Heading]:
        """Those for a table of contents."""
        return [each.heading for each in self.sections if each.heading.level == 2]


def address(name: str) -> str:
    """The address of a page by its name."""
    return reverse("document", args=[name]) if name else reverse("documentation")


@lru_cache
def document(name: str) -> Document | None:
    """A page by its name, or None."""
    if name == DECISIONS:
        return _decisions()
    if name not in _names():
        return None
    return _render(name, _text_of(name))


@lru_cache
def navigation() -> list[dict[str, Any]]:
    """The pages as `docs/README.md` lists them."""
    groups: list[dict[str, Any]] = []
    tokens = _PARSER.parse(_text_of(""))
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            groups.append(
                {
                    "title": _text(tokens[at + 1]),
                    "links": [],
                }
            )
        parts = token.children or []
        for place, child in enumerate(parts):
            if child.type == "link_open" and groups:
                name = _page_of("", str(child.attrGet("href")))
                if name is not None:
                    title = parts[place + 1].content
                    groups[-1]["links"].append(
                        {
                            "title": title,
                            "address": address(name),
                        }
                    )
    return groups


def search(words: str) -> list[dict[str, Any]]:
    """Sections that have every word, at most RESULTS; those that name it first, decisions last."""
    terms = words.lower().split()
    if not terms:
        return []
    hits = []
    for page, section in _sections():
        heading = f"{page.title} {section.heading.text}".lower()
        text = section.text.lower()
        if all(word in heading or word in text for word in terms):
            rank = (sum(word in heading for word in terms), "/" not in page.name)
            place = f"{page.address}#{section.heading.anchor}"
            snippet = _snippet(section.text, terms)
            hits.append(
                (
                    rank,
                    {
                        "title": page.title,
                        "heading": section.heading.text,
                        "address": place,
                        "snippet": snippet,
                    },
                )
            )
    hits.sort(key=lambda hit: hit[0], reverse=True)
    return [hit for _, hit in hits[:RESULTS]]


@lru_cache
def _names() -> frozenset[str]:
    paths = (path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.md"))
    names = {"" if str(path) == "README" else path.as_posix() for path in paths}
    return frozenset(names - _left_out())


def _left_out() -> set[str]:
    """The pages of capabilities that the hub does not offer."""
    return {
        page
        for name, capability in CAPABILITIES.items()
        if name not in settings.HUB_CAPABILITIES
        for page in capability.documents
    }


def _text_of(name: str) -> str:
    """A page as written, without the lines of the index that lead to pages that are left out."""
    lines = (FOLDER / (f"{name}.md" if name else "README.md")).read_text("utf-8").splitlines()
    if not name:
        gone = tuple(f"]({page}.md)" for page in _left_out())
        lines = [line for line in lines if not any(link in line for link in gone)]
    return "\n".join(lines)


def _decisions() -> Document:
    lines = [
        "# Decisions",
        "",
        "Why the hub is designed as it is: context, choice and cost.",
        "",
    ]
    for name in sorted(name for name in _names() if name.startswith(f"{DECISIONS}/")):
        title = (FOLDER / f"{name}.md").read_text("utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({name}.md)")
    return _render(DECISIONS, "\n".join(lines), folder="")


def _render(name: str, text: str, folder: str | None = None) -> Document:
    tokens = _PARSER.parse(text)
    _relink(tokens, name.rpartition("/")[0] if folder is None else folder)
    sections = tuple(_split(tokens))
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    # A wide table scrolls by itself.
    numbers = count(1)
    html = re.sub(
        "<table>",
        lambda _: (
            f'<div class="scroll" role="region" tabindex="0" '
            f'aria-label="Table {next(numbers)}"><table>'
        ),
        html,
    )
    html = html.replace("</table>", "</table></div>")
    html = html.replace(
        "<p><img ",
        '<p class="scroll" role="region" tabindex="0" aria-label="Picture"><img ',
    )
    title = sections[0].heading.text if sections else name
    return Document(name, title, mark_safe(html), sections)  # noqa: S308 - the project's own text


def _relink(tokens: Sequence[Token], folder: str) -> None:
    for token in tokens:
        is_dropped = False
        for child in token.children or ():
            if child.type == "image":
                child.attrSet("src", _picture(folder, str(child.attrGet("src"))))
            if child.type == "link_open":
                target = _target(folder, str(child.attrGet("href")))
                is_dropped = target is None
                child.attrSet("href", target or "")
            if is_dropped and child.type in ("link_open", "link_close"):
                is_dropped = child.type == "link_open"
                child.type, child.tag, child.hidden = "text", "", True


def _picture(folder: str, link: str) -> str:
    """A drawing of the folder as a data URI, so that no address is needed for it."""
    drawing = (FOLDER / normpath(join(folder, link))).read_bytes()
    return f"data:image/svg+xml;base64,{b64encode(drawing).decode()}"


def _target(folder: str, link: str) -> str | None:
    if link.startswith(("http://", "https://", "#", "/")):
        return link
    path, _, anchor = link.partition("#")
    if normpath(join(folder, path)) == "openapi.yaml":
        return reverse("schema")
    name = _page_of(folder, path)
    if name is None:
        return None
    return f"{address(name)}#{anchor}" if anchor else address(name)


def _page_of(folder: str, path: str) -> str | None:
    name = normpath(join(folder, path)).removesuffix(".md")
    name = "" if name == "README" else name
    return name if name in _names() or name == DECISIONS else None


def _split(tokens: Sequence[Token]) -> Iterator[Section]:
    heading: Heading | None = None
    words: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if heading is not None:
                yield Section(heading, " ".join(words))
            heading = Heading(int(token.tag[1]), _text(tokens[at + 1]), str(token.attrGet("id")))
            words = []
        elif token.type == "inline" or token.type in ("fence", "code_block"):
            words.append(_text(token))
    if heading is not None:
        yield Section(heading, " ".join(words))


def _text(token: Token) -> str:
    if token.children is None:
        return token.content
    return re.sub(
        r"\s+",
        " ",
        "".join(
            child.content if child.type in ("text", "code_inline") else " "
            for child in token.children
        ),
    ).strip()


@lru_cache
def _sections() -> list[tuple[Document, Section]]:
    pages = [document(name) for name in sorted(_names())]
    return [(page, section) for page in pages if page for section in page.sections]


def _snippet(text: str, words: list[str]) -> str:
    at = min((place for word in words if (place := text.lower().find(word)) >= 0), default=0)
    start = max(0, at - 40)
    part = text[start : start + _SNIPPET_CHARACTERS].strip()
    return f"{'…' if start else ''}{part}{'…' if start + _SNIPPET_CHARACTERS < len(text) else ''}"
