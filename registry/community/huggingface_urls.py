"""Addresses of discussions in the Hub protocol, and of likes and collections, which it lacks."""

from __future__ import annotations

from django.urls import path

from registry.community import huggingface as discussions
from registry.protocols.huggingface import converters  # noqa: F401 - registers forms
from registry.protocols.huggingface.urls import MODEL
from registry.protocols.huggingface.views import Unsupported

DISCUSSION = f"{MODEL}/discussions/<number:discussion>"
NO_LIKES = "This protocol has no likes here. Like models on their pages, or with `hub like`."
NO_COLLECTIONS = (
    "This hub has no collections. Models are grouped by namespace, task and keyword: "
    "list_models(author=…) and its filters."
)

urlpatterns = [
    path(f"{MODEL}/discussions", discussions.Discussions.as_view()),
    path(DISCUSSION, discussions.DiscussionDetails.as_view()),
    path(f"{DISCUSSION}/title", discussions.Title.as_view()),
    path(f"{DISCUSSION}/status", discussions.Status.as_view()),
    path(f"{DISCUSSION}/comment", discussions.NewComment.as_view()),
    path(f"{DISCUSSION}/comment/<str:comment>/edit", discussions.EditComment.as_view()),
    path(f"{DISCUSSION}/comment/<str:comment>/hide", discussions.HideComment.as_view()),
    path(
        f"{MODEL}/discussions/<path:rest>",
        Unsupported.as_view(words=discussions.NO_PULL_REQUESTS),
    ),
    path(f"{MODEL}/likers", Unsupported.as_view(words=NO_LIKES)),
    path(f"{MODEL}/like", Unsupported.as_view(words=NO_LIKES)),
    path("api/collections", Unsupported.as_view(words=NO_COLLECTIONS)),
    path("api/collections/<path:rest>", Unsupported.as_view(words=NO_COLLECTIONS)),
]
