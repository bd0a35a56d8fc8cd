"""Addresses of discussions and likes in the Hub protocol, and of what it lacks of a community."""

from __future__ import annotations

from django.urls import path

from registry.community import huggingface as discussions
from registry.community import huggingface_likes as likes
from registry.protocols.huggingface import converters  # noqa: F401 - registers forms
from registry.protocols.huggingface.urls import MODEL
from registry.protocols.huggingface.views import Unsupported

DISCUSSION = f"{MODEL}/discussions/<number:discussion>"
NO_LIKERS = "This hub does not name the users who like a model: `hub likes` shows their number."
NO_COLLECTIONS = (
    "Collections of this hub are not part of this protocol. See the page of collections, "
    "`hub collection`, and /api/v1/collections."
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
    path(f"{MODEL}/likers", Unsupported.as_view(words=NO_LIKERS)),
    path(f"{MODEL}/like", likes.LikeDetail.as_view()),
    path("api/users/<str:username>/likes", likes.Likes.as_view()),
    path("api/collections", Unsupported.as_view(words=NO_COLLECTIONS)),
    path("api/collections/<path:rest>", Unsupported.as_view(words=NO_COLLECTIONS)),
]
