"""The addresses of discussions, collections, saved comparisons, likes and watched models."""

from __future__ import annotations

from django.urls import path

from frontend.pages.community import digests, feeds, watching
from frontend.pages.community.collections import views as collections
from frontend.pages.community.comparisons import views as comparisons
from frontend.pages.community.discussions import views as discussions
from frontend.pages.linked_data import converters  # noqa: F401 - registers `ending`
from frontend.parts.caching import page
from frontend.parts.patterns import MODEL
from registry.api.guests import for_guests

DISCUSSION = f"{MODEL}/discussions/<number:discussion>"
COLLECTION = "collections/<name:namespace>/<slug:slug>"

urlpatterns = [
    path(f"{MODEL}/interest", watching.act, name="model-interest"),
    path("watching", watching.watching, name="watching"),
    path("watching/digest", digests.choose, name="watching-digest"),
    path(
        "watching/digest/<str:secret>",
        for_guests(digests.unsubscribe),
        name="watching-unsubscribe",
    ),
    path("account/discussions", discussions.own, name="own-discussions"),
    path(f"{MODEL}/collect", collections.collect, name="model-collect"),
    path(f"{MODEL}/discussions.atom", page(feeds.discussions), name="discussions-feed"),
    path(f"{MODEL}/discussions", page(discussions.every), name="discussions"),
    path(f"{MODEL}/discussions/new", discussions.new, name="discussion-new"),
    path(DISCUSSION, page(discussions.show), name="discussion"),
    path(f"{DISCUSSION}/edit", discussions.edit, name="discussion-edit"),
    path(f"{DISCUSSION}/act", discussions.act, name="discussion-act"),
    path(f"{DISCUSSION}/comment", discussions.comment, name="discussion-comment"),
    path(
        f"{DISCUSSION}/comments/<number:comment>/edit",
        discussions.edit_comment,
        name="comment-edit",
    ),
    path("collections", page(collections.every), name="collections"),
    path("collections/new", collections.new, name="collection-new"),
    path(f"{COLLECTION}.atom", page(feeds.collection), name="collection-feed"),
    path(f"{COLLECTION}.<ending:ending>", page(collections.graph), name="collection-graph"),
    path(COLLECTION, page(collections.show), name="collection"),
    path(f"{COLLECTION}/edit", collections.edit, name="collection-edit"),
    path(f"{COLLECTION}/act", collections.act, name="collection-act"),
    path(
        f"{COLLECTION}/unavailable",
        collections.remove_unavailable,
        name="collection-unavailable",
    ),
    path(f"{COLLECTION}/delete", collections.delete, name="collection-delete"),
    path("compare/saved", comparisons.every, name="saved-comparisons"),
    path("compare/<uuid:uuid>", page(comparisons.show), name="saved-comparison"),
    path("compare/<uuid:uuid>/change", comparisons.change, name="saved-comparison-change"),
    path("compare/<uuid:uuid>/delete", comparisons.delete, name="saved-comparison-delete"),
    # As clients of the Hub protocol print it.
    path(
        "<name:namespace>/<name:name>/discussions/<number:discussion>", discussions.client_address
    ),
]
