"""HTML of the hub's own templates as plain text, for mails that have both."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_LINES = frozenset({"p", "h1", "h2", "li"})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _LINES:
            self.parts.append("\n\n" if tag != "li" else "\n- ")
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.parts.append(f" ({self._links.pop()})")

    def handle_data(self, data: str) -> None:
        self.parts.append(re.sub(r"\s+", " ", data))


def plain_text(html: str) -> str:
    """Paragraphs, headings and items as lines, each link followed by its address."""
    reader = _Text()
    reader.feed(html)
    lines = [line.strip() for line in "".join(reader.parts).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
