"""Atom feeds of the discussions of a model, and of the models of a collection."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.pages.catalogue.feeds import ENTRIES, answer, plain, start
from registry.community.collections import selectors as collections
from registry.community.discussions import selectors as discussion_selectors
from registry.versions import selectors


@require_safe
def collection(request: HttpRequest, namespace: str, slug: str) -> HttpResponse:
    """The models that were added to a collection last, each with its note."""
    row = collections.collection(request.user, namespace, slug)
    place = reverse("collection", args=[row.namespace.slug, row.slug])
    feed = start(request, row.title, place)
    entries = collections.entries(request.user, row)
    for entry in sorted(entries, key=lambda entry: entry.added_at, reverse=True)[:ENTRIES]:
        model = entry.model
        url = settings.HUB_PUBLIC_URL + reverse("model", args=[model.namespace.slug, model.name])
        feed.add_item(
            model.ref,
            url,
            plain(entry.note or model.summary),
            unique_id=f"{settings.HUB_PUBLIC_URL}{place}#{model.ref}",
            pubdate=entry.added_at,
            updateddate=entry.added_at,
        )
    return answer(feed)


@require_safe
def discussions(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The discussions of a model that were opened last."""
    model = selectors.model(request.user, namespace, name)
    place = reverse("discussions", args=[model.namespace.slug, model.name])
    feed = start(request, f"Discussions of {model.ref}", place)
    for row in discussion_selectors.discussions(request.user, model)[:ENTRIES]:
        url = f"{settings.HUB_PUBLIC_URL}{place}/{row.number}"
        about = f", about version {row.version.number}" if row.version else ""
        feed.add_item(
            plain(row.title),
            url,
            f"Discussion {row.number}, {row.status}{about}",
            unique_id=url,
            pubdate=row.created_at,
            updateddate=row.updated_at,
            author_name=row.author.username,
        )
    return answer(feed)
