"""Addresses of discussions, collections, saved comparisons, likes and watches below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from registry.community.api import collections, comparisons, discussions, interest

MODEL = "models/<str:namespace>/<str:name>"
DISCUSSION = f"{MODEL}/discussions/<number:discussion>"
COMMENT = f"{DISCUSSION}/comments/<number:comment>"
COLLECTION = "collections/<str:namespace>/<str:slug>"

urlpatterns = [
    path(
        f"{MODEL}/like",
        interest.Interest.as_view({"get": "likes", "put": "like", "delete": "unlike"}),
    ),
    path(f"{MODEL}/watch", interest.Interest.as_view({"put": "watch", "delete": "unwatch"})),
    path("watching/digest", interest.Digest.as_view({"get": "read", "put": "choose"})),
    path("watching", interest.Interest.as_view({"get": "watches"})),
    path(
        f"{MODEL}/discussions",
        discussions.Discussions.as_view({"get": "index", "post": "create"}),
    ),
    path(DISCUSSION, discussions.Discussions.as_view({"get": "read", "patch": "edit"})),
    path(
        f"{DISCUSSION}/comments",
        discussions.Discussions.as_view({"get": "comments", "post": "add_comment"}),
    ),
    path(COMMENT, discussions.Discussions.as_view({"patch": "edit_comment"})),
    path(f"{COMMENT}/hide", discussions.Discussions.as_view({"post": "hide_comment"})),
    path(f"{COMMENT}/unhide", discussions.Discussions.as_view({"post": "unhide_comment"})),
    path("collections", collections.Collections.as_view({"get": "index", "post": "create"})),
    path(
        COLLECTION,
        collections.Collections.as_view({"get": "read", "patch": "edit", "delete": "destroy"}),
    ),
    path(f"{COLLECTION}/models", collections.Collections.as_view({"post": "add"})),
    path(
        f"{COLLECTION}/models/<str:model_namespace>/<str:model_name>",
        collections.Collections.as_view({"patch": "annotate", "delete": "remove"}),
    ),
    path(f"{COLLECTION}/order", collections.Collections.as_view({"put": "reorder"})),
    path(
        f"{COLLECTION}/unavailable",
        collections.Collections.as_view({"delete": "remove_unavailable"}),
    ),
    path(
        "saved-comparisons",
        comparisons.SavedComparisons.as_view({"get": "index", "post": "create"}),
    ),
    path(
        "saved-comparisons/<uuid:uuid>",
        comparisons.SavedComparisons.as_view({"get": "read", "patch": "edit", "delete": "destroy"}),
    ),
]
