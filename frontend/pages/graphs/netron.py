"""Netron in a frame: the package's own files, and its first page made fit to stand inside a page.

Left alone it refuses to work 180 days after its build, asks a host where its reader is, sends usage
data and takes the focus; see docs/decisions/0022-netron.md.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.utils.html import format_html

PACKAGE = "netron"
TYPES: Mapping[str, str] = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".ico": "image/x-icon",
    ".png": "image/png",
}
# Outside hosts are forbidden even if a later version tries to reach them.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
# Says that no question about cookies needs an answer, and with it none about the reader's country.
COOKIE = "consent"
OPERATORS = "onnx-metadata.json"

_META = re.compile(
    r'\s*<meta (?:name="(?:date|version|viewport|file|identifier)"'
    r'|http-equiv="Content-Security-Policy")[^>]*>'
)
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_START = re.compile(r'<script [^>]*src="index\.js"')


@cache
def folder() -> Path | None:
    """Where the package lies; None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent if spec and spec.origin else None


@cache
def version() -> str:
    """The package's version; empty where it is not installed."""
    return importlib.metadata.version(PACKAGE) if folder() else ""


@cache
def names() -> frozenset[str]:
    """The files of the package that a browser may have."""
    place = folder()
    if place is None:
        return frozenset()
    return frozenset(
        path.name for path in place.iterdir() if path.suffix in TYPES and path.is_file()
    )


def read(name: str) -> tuple[bytes, str]:
    """A file of the package and its content type; raises KeyError unless it is one of `names`."""
    place = folder()
    if place is None or name not in names():
        raise KeyError(name)
    content = _operators() if name == OPERATORS else (place / name).read_bytes()
    return content, TYPES[Path(name).suffix]


@cache
def _operators() -> bytes:
    """What the viewer knows of ONNX operators, without examples in Python: 170 kB less to send."""
    place = folder()
    if place is None:
        raise KeyError(OPERATORS)
    rows = json.loads((place / OPERATORS).read_text(encoding="utf-8"))
    for row in rows:
        row.pop("examples", None)
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


@cache
def _first_page() -> tuple[str, str]:
    """The package's first page around the place of its head that the hub fills in."""
    place = folder()
    if place is None:
        raise KeyError("index.html")
    text = _META.sub("", (place / "index.html").read_text(encoding="utf-8"))
    text = _TITLE.sub("", text)
    start = _START.search(text)
    if start is None:
        raise ValueError(f"{PACKAGE} {version()} is not supported by this hub.")
    return text[: start.start()], text[start.start() :]


def page(title: str, file: str, identifier: str, script: str) -> str:
    """The first page that opens ``file``, an address relative to the frame, under a name.

    No date, so that it never ages; version 0.0.0, which switches usage data off; ``script`` runs
    before its own and keeps the focus where the reader left it. Raises KeyError where the package
    is missing.
    """
    before, after = _first_page()
    head = format_html(
        '<meta name="version" content="0.0.0">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="file" content="{}">\n<meta name="identifier" content="{}">\n'
        '<title>{}</title>\n<script src="{}"></script>\n',
        file,
        identifier,
        title,
        script,
    )
    words = (
        "<noscript>This viewer needs JavaScript. The table of nodes works without it.</noscript>"
    )
    return before + head + after.replace("</body>", f"{words}</body>", 1)
