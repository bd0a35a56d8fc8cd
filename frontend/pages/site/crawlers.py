"""What search engines read of what is public: robots.txt (RFC 9309) and sitemaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.parts.addresses import whole
from hub.protocol import problems
from hub.protocol.ports import Port
from registry.catalogue import public_models
from registry.core.routes import routes

# https://www.sitemaps.org/protocol.html
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# Pages that are one for each question, form or account; files are many bytes and no text.
_CLOSED = (
    "/account", "/administration", "/api/", "/compare", "/jobs", "/login", "/models?",
    "/upload", "/workers", "/models/*/v/*/files/", "/models/*/v/*/graph/",
    "/models/*?",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sitemap:
    """Public pages for search engines: the names of sitemaps, and what each of them lists.

    ``pages`` gives the path of each page and when it changed; none for a name that is not its own.
    """

    names: Callable[[], list[str]]
    pages: Callable[[str], Iterable[tuple[str, datetime]]]


sitemaps = Port(Sitemap)


@require_safe
def robots(_request: HttpRequest) -> HttpResponse:
    closed = [*_CLOSED, *(path for route in routes for path in route.closed)]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in closed)]
    sitemap = f"Sitemap: {settings.HUB_PUBLIC_URL}{reverse('sitemap')}"
    return HttpResponse("\n".join([*lines, "", sitemap, ""]), content_type="text/plain")


@require_safe
def sitemap(_request: HttpRequest) -> HttpResponse:
    """The index of the sitemaps."""
    hub = settings.HUB_PUBLIC_URL
    names = (name for each in sitemaps for name in each.names())
    maps = ((f"{hub}/sitemap-{name}.xml", "") for name in names)
    return _document("sitemapindex", "sitemap", maps)


@require_safe
def sitemap_page(_request: HttpRequest, name: str) -> HttpResponse:
    """One sitemap; raises NotFound for others."""
    rows = [row for each in sitemaps for row in each.pages(name)]
    if not rows:
        raise problems.NotFound(f"There is no sitemap {name[:40]}.")
    hub = settings.HUB_PUBLIC_URL
    pages = ((f"{hub}{path}", f"{at:%Y-%m-%dT%H:%M:%SZ}") for path, at in rows)
    return _document("urlset", "url", pages)


def _numbers() -> list[str]:
    """One sitemap for each `public_models.PAGE` models."""
    return [str(number) for number in range(1, public_models.pages() + 1)]


def _models(number: str) -> Iterator[tuple[str, datetime]]:
    for title, at in public_models.page(whole(number) or 0):
        yield f"/models/{title}", at


sitemaps.register("frontend.pages.site", Sitemap(_numbers, _models))


def _document(root: str, name: str, rows: Iterable[tuple[str, str]]) -> HttpResponse:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<{root} xmlns="{_SCHEMA}">']
    for url, at in rows:
        changed = f"<lastmod>{at}</lastmod>" if at else ""
        lines.append(f"<{name}><loc>{escape(url)}</loc>{changed}</{name}>")
    return HttpResponse("\n".join([*lines, f"</{root}>", ""]), content_type="application/xml")
