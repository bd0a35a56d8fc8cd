"""Atom feeds (RFC 4287): the list of models, and the versions of a model.

A feed has what its reader may see; readers of feeds have no cookies, so that is what is public.
"""

from __future__ import annotations

import re
from dataclasses import replace

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from frontend.presenters import list_filters, version_head
from registry.api.parameters import accepts
from registry.catalogue import search
from registry.versions import selectors

ENTRIES = 30
TYPE = "application/atom+xml"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@accepts(*list_filters.PARAMETERS)
@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """The models of a list that were updated last; the address takes the filters of the list."""
    query = replace(list_filters.read(request.GET), sort="updated")
    chips = list_filters.chips(query)
    title = ", ".join(f"{chip['title']}: {chip['words']}" for chip in chips) or "all"
    feed = start(request, f"Models ({title})", list_filters.address(query))
    for row in search.find(request.user, query, limit=ENTRIES).items:
        url = settings.HUB_PUBLIC_URL + reverse("model", args=row.title.split("/", 1))
        latest = row.latest or {}
        number = latest.get("number")
        feed.add_item(
            f"{row.title}@{number}" if number else row.title,
            f"{url}/v/{number}" if number else url,
            plain(str(latest.get("summary") or row.model.summary)),
            unique_id=f"{url}/v/{number}" if number else url,
            updateddate=row.updated_at,
        )
    return answer(feed)


@require_safe
def versions(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The versions of a model that were published last."""
    model = selectors.model(request.user, namespace, name)
    feed = start(request, f"Versions of {model.ref}", reverse("model", args=[namespace, name]))
    for row in selectors.versions(request.user, model).exclude(published_at=None)[:ENTRIES]:
        url = settings.HUB_PUBLIC_URL + version_head.place(row)
        state = "" if row.state == "published" else f" ({row.state})"
        feed.add_item(
            f"{row.ref}{state}",
            url,
            plain(row.message or row.label),
            unique_id=url,
            pubdate=row.published_at,
            updateddate=row.ended_at or row.published_at,
            author_name=row.created_by.username,
        )
    return answer(feed)


def start(request: HttpRequest, title: str, page: str) -> Atom1Feed:
    """An empty feed of what a page lists."""
    own = settings.HUB_PUBLIC_URL + request.get_full_path()
    return Atom1Feed(
        plain(title), settings.HUB_PUBLIC_URL + page, None, language="en", feed_url=own
    )


def plain(words: str) -> str:
    """Words without the control characters that XML cannot hold."""
    return _CONTROL.sub("", words)


def answer(feed: Atom1Feed) -> HttpResponse:
    """Send a feed."""
    return HttpResponse(feed.writeString("utf-8"), content_type=f"{TYPE}; charset=utf-8")
