"""Who a request comes from, and the tokens they sign in with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from registry import selectors
from registry.api import pagination
from registry.api import serializers as shapes
from registry.api.views import parse
from registry.permissions import SCOPES, require_user
from registry.services import tokens

if TYPE_CHECKING:
    from rest_framework.request import Request


class Whoami(APIView):
    """Who the caller is."""

    @extend_schema(operation_id="whoami", responses=shapes.WhoamiOutput)
    def get(self, request: Request) -> Response:
        """Name, namespaces and scopes of the caller; 401 for a guest."""
        user = require_user(request.user)
        data = {
            "username": user.username,
            "namespaces": [
                {"slug": namespace.slug, "role": role}
                for namespace, role in selectors.namespaces_of(user)
            ],
            "scopes": user.access_token.scopes if user.access_token else SCOPES,
        }
        return Response(shapes.WhoamiOutput(data).data)


class TokenList(APIView):
    """The caller's tokens."""

    @extend_schema(operation_id="tokens_list", responses=pagination.paged(shapes.TokenOutput))
    def get(self, request: Request) -> Response:
        """List tokens, without their secrets."""
        rows, cursor = pagination.by_number(
            request, selectors.tokens(request.user), "id", pagination.limit_of(request)
        )
        return pagination.respond(request, shapes.TokenOutput, rows, cursor)

    @extend_schema(
        operation_id="tokens_create",
        request=shapes.TokenInput,
        responses={201: shapes.NewTokenOutput},
    )
    def post(self, request: Request) -> Response:
        """Make a token; its secret is in this answer and nowhere else."""
        row, secret = tokens.create(request.user, **parse(shapes.TokenInput, request.data))
        return Response({**shapes.TokenOutput(row).data, "token": secret}, status=201)


class TokenDetail(APIView):
    """One token."""

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke a token at once."""
        tokens.revoke(request.user, token_id=token_id)
        return Response(status=204)
