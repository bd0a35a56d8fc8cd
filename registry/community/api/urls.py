"""Addresses of discussions, collections, likes and watches below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from registry.community.api import collections, discussions, interest

MODEL = "models/<str:namespace>/<str:name>"
DISCUSSION = f"{MODEL}/discussions/<number:discussion>"
COMMENT = f"{DISCUSSION}/comments/<number:comment>"
COLLECTION = "collections/<str:namespace>/<str:slug>"

urlpatterns = [
    path(f"{MODEL}/like", interest.LikeDetail.as_view()),
    path(f"{MODEL}/watch", interest.WatchDetail.as_view()),
    path("watching", interest.WatchList.as_view()),
    path(f"{MODEL}/discussions", discussions.DiscussionList.as_view()),
    path(DISCUSSION, discussions.DiscussionDetail.as_view()),
    path(f"{DISCUSSION}/comments", discussions.CommentList.as_view()),
    path(COMMENT, discussions.CommentDetail.as_view()),
    path(f"{COMMENT}/hide", discussions.CommentHide.as_view()),
    path(f"{COMMENT}/unhide", discussions.CommentUnhide.as_view()),
    path("collections", collections.CollectionList.as_view()),
    path(COLLECTION, collections.CollectionDetail.as_view()),
    path(f"{COLLECTION}/models", collections.CollectionModelList.as_view()),
    path(
        f"{COLLECTION}/models/<str:model_namespace>/<str:model_name>",
        collections.CollectionModelDetail.as_view(),
    ),
    path(f"{COLLECTION}/order", collections.CollectionOrder.as_view()),
    path(f"{COLLECTION}/unavailable", collections.CollectionUnavailable.as_view()),
]
