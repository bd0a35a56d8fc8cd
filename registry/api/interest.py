"""The REST API over likes, and over the models that a user watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.models import Watch
from registry.versions import selectors
from registry.versions.services import interest

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.models import RegisteredModel


class LikesOutput(Output[interest.Interest]):
    """The likes of a model."""

    columns = Columns(
        Column("likes", help_text="number of users who like the model"),
        Column("liked", help_text="whether you are one of them"),
    )


class WatchOutput(Output[Watch]):
    """A model that you watch."""

    columns = Columns(Column("model", "model.ref"), "created_at")


class LikeDetail(APIView):
    """The likes of a model; one for each user."""

    @extend_schema(operation_id="likes_read", responses=LikesOutput)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Read the number of likes of a model."""
        return _likes(request, selectors.model(request.user, namespace, name))

    @extend_schema(operation_id="likes_put", request=None, responses=LikesOutput)
    def put(self, request: Request, namespace: str, name: str) -> Response:
        """Like a model. Liking it again changes nothing."""
        model = selectors.model(request.user, namespace, name)
        interest.like(request.user, model=model)
        return _likes(request, model)

    @extend_schema(operation_id="likes_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Remove your like of a model."""
        interest.unlike(request.user, model=selectors.model(request.user, namespace, name))
        return Response(status=204)


class WatchDetail(APIView):
    """Your watch of a model."""

    @extend_schema(operation_id="watches_put", request=None, responses={204: None})
    def put(self, request: Request, namespace: str, name: str) -> Response:
        """Watch a model. Its new versions and evidence appear on your page of watched models."""
        interest.watch(request.user, model=selectors.model(request.user, namespace, name))
        return Response(status=204)

    @extend_schema(operation_id="watches_delete", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str) -> Response:
        """Stop watching a model."""
        interest.unwatch(request.user, model=selectors.model(request.user, namespace, name))
        return Response(status=204)


class WatchList(APIView):
    """The models that you watch."""

    @extend_schema(operation_id="watches_list", responses=pagination.paged(WatchOutput))
    @asks(*PAGED)
    def get(self, request: Request) -> Response:
        """List the models that you watch, the latest first."""
        rows = interest.watches(request.user)
        return pagination.highest_first(request, WatchOutput, rows, "id")


def _likes(request: Request, model: RegisteredModel) -> Response:
    return Response(LikesOutput(interest.of_model(request.user, model)).data)
