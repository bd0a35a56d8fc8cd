"""Who a request comes from, and the tokens they sign in with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.inputs import Input, Items, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.api.people import MembershipOutput
from registry.core.permissions import SCOPES, require_user
from registry.models import AccessToken
from registry.people import selectors as people_selectors
from registry.people.services import tokens
from registry.versions import selectors

if TYPE_CHECKING:
    from rest_framework.request import Request


class WhoamiOutput(serializers.Serializer[Any]):
    """The user of the request."""

    username = serializers.CharField()
    namespaces = MembershipOutput(many=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(SCOPES))


class TokenInput(Input):
    """A new token."""

    name = serializers.CharField(max_length=100)
    scopes = Items(child=serializers.CharField(), min_length=1, max_length=len(SCOPES))
    namespace = serializers.CharField(required=False, allow_null=True, default=None)
    expires_days = serializers.IntegerField(default=90)


class TokenOutput(Output[AccessToken]):
    """A token, without its secret."""

    columns = Columns(
        "id",
        "name",
        "prefix",
        "scopes",
        Column("namespace", "namespace.slug"),
        "created_at",
        "expires_at",
        "last_used_at",
    )

    scopes = serializers.ListField(child=serializers.CharField())


class IssuedTokenOutput(TokenOutput):
    """A new token; only this response contains its secret."""

    token = serializers.CharField()


class Whoami(APIView):
    """Who the caller is."""

    @extend_schema(operation_id="whoami", responses=WhoamiOutput)
    def get(self, request: Request) -> Response:
        """Read your name, namespaces and scopes. Returns 401 without a login."""
        user = require_user(request.user, any_namespace=True)
        data = {
            "username": user.username,
            "namespaces": [
                {"slug": namespace.slug, "role": role}
                for namespace, role in people_selectors.namespaces_of(user)
            ],
            "scopes": user.access_token.scopes if user.access_token else SCOPES,
        }
        return Response(WhoamiOutput(data).data)


class TokenList(APIView):
    """The caller's tokens."""

    @extend_schema(operation_id="tokens_list", responses=pagination.paged(TokenOutput))
    @asks(*PAGED)
    def get(self, request: Request) -> Response:
        """List tokens, without their secrets."""
        rows = selectors.tokens(request.user)
        return pagination.highest_first(request, TokenOutput, rows, "id")

    @extend_schema(
        operation_id="tokens_create",
        request=TokenInput,
        responses={201: IssuedTokenOutput},
    )
    def post(self, request: Request) -> Response:
        """Create a token; only this response contains its secret."""
        row, secret = tokens.create(request.user, **parse(TokenInput, request.data))
        return Response({**TokenOutput(row).data, "token": secret}, status=201)


class TokenDetail(APIView):
    """One token."""

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke a token immediately."""
        tokens.revoke(request.user, token_id=token_id)
        return Response(status=204)
