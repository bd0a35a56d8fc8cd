"""Likes in the Hub protocol: one's own are given, taken back and listed; others' are counts."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from registry.community import interest
from registry.core.permissions import require_user
from registry.protocols.huggingface import addresses, errors, shapes, writing
from registry.protocols.huggingface.urls import NO_PROFILES
from registry.protocols.huggingface.views import HubView

PAGE = 1_000


class LikeDetail(HubView):
    """The caller's like of a model."""

    parser_classes = [writing.AnyJson]

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Like a model."""
        interest.like(request.user, model=self.model)
        return Response({})

    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Take a like back."""
        interest.unlike(request.user, model=self.model)
        return Response({})


class Likes(HubView):
    """The models that a user likes."""

    def get(self, request: Request, username: str) -> Response:
        """One's own likes, newest first; `Link` names the next page. 400 for another user."""
        user = require_user(request.user, any_namespace=True)
        if username.lower() != user.username.lower():
            raise errors.Refused(NO_PROFILES, status=400)
        page = addresses.count(request, "p", 0, PAGE)
        rows = interest.likes(request.user)[page * PAGE : (page + 1) * PAGE + 1]
        response = Response(
            [
                {
                    "createdAt": shapes.moment(row.created_at),
                    "repo": {"name": row.model.ref, "type": "model"},
                }
                for row in rows[:PAGE]
            ]
        )
        if len(rows) > PAGE:
            addresses.link_next(request, response, p=page + 1)
        return response
