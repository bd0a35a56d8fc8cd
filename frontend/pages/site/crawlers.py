"""What search engines read of what is public: robots.txt (RFC 9309) and sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from hub.protocol import problems
from registry.catalogue import public_models
from registry.core.routes import routes
from registry.models import Collection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet
    from django.http import HttpRequest

# https://www.sitemaps.org/protocol.html, which allows 50,000 addresses in a sitemap.
COLLECTIONS = 10_000
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# Pages that are one for each question, form or account; files are many bytes and no text.
_CLOSED = (
    "/account", "/administration", "/api/", "/collections?", "/collections/new",
    "/collections/*/edit", "/compare", "/jobs", "/login", "/models?", "/query",
    "/sparql", "/upload", "/workers", "/models/*/v/*/files/", "/models/*/v/*/graph/",
    "/models/*?",
)  # fmt: skip


@require_safe
def robots(_request: HttpRequest) -> HttpResponse:
    closed = [*_CLOSED, *(path for route in routes for path in route.closed)]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in closed)]
    sitemap = f"Sitemap: {settings.HUB_PUBLIC_URL}{reverse('sitemap')}"
    return HttpResponse("\n".join([*lines, "", sitemap, ""]), content_type="text/plain")


@require_safe
def sitemap(_request: HttpRequest) -> HttpResponse:
    """The index: one sitemap for each `public_models.PAGE` models."""
    hub = settings.HUB_PUBLIC_URL
    names = [str(number) for number in range(1, public_models.pages() + 1)]
    if _public_collections().exists():
        names.append("collections")
    maps = ((f"{hub}/sitemap-{name}.xml", "") for name in names)
    return _document("sitemapindex", "sitemap", maps)


@require_safe
def collections(_request: HttpRequest) -> HttpResponse:
    """The sitemap of the public collections, the newest of them."""
    hub = settings.HUB_PUBLIC_URL
    rows = _public_collections().select_related("namespace").order_by("-pk")[:COLLECTIONS]
    pages = (
        (f"{hub}/collections/{row.ref}", f"{row.updated_at:%Y-%m-%dT%H:%M:%SZ}") for row in rows
    )
    return _document("urlset", "url", pages)


@require_safe
def sitemap_page(_request: HttpRequest, number: int) -> HttpResponse:
    """One sitemap; raises NotFound beyond the last."""
    rows = public_models.page(number)
    if not rows:
        raise problems.NotFound(f"There is no sitemap {number}.")
    hub = settings.HUB_PUBLIC_URL
    pages = ((f"{hub}/models/{title}", f"{at:%Y-%m-%dT%H:%M:%SZ}") for title, at in rows)
    return _document("urlset", "url", pages)


def _public_collections() -> QuerySet[Collection]:
    return Collection.objects.visible_to(AnonymousUser())


def _document(root: str, name: str, rows: Iterable[tuple[str, str]]) -> HttpResponse:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<{root} xmlns="{_SCHEMA}">']
    for url, at in rows:
        changed = f"<lastmod>{at}</lastmod>" if at else ""
        lines.append(f"<{name}><loc>{escape(url)}</loc>{changed}</{name}>")
    return HttpResponse("\n".join([*lines, f"</{root}>", ""]), content_type="application/xml")
