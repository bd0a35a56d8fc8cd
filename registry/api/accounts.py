"""Who a request comes from, and the tokens they sign in with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from registry.api.inputs import Input, Items
from registry.api.operations import View, listing, operation
from registry.api.outputs import Column, Columns, Output
from registry.api.people import MembershipOutput
from registry.core.permissions import SCOPES, require_user
from registry.models import AccessToken
from registry.people import selectors as people_selectors
from registry.people.services import tokens
from registry.versions import selectors

if TYPE_CHECKING:
    from django.db.models import QuerySet


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


class Whoami(View):
    """Who the caller is."""

    @operation("whoami", WhoamiOutput)
    def get(self) -> dict[str, Any]:
        """Read your name, namespaces and scopes. Returns 401 without a login."""
        user = require_user(self.request.user, any_namespace=True)
        return {
            "username": user.username,
            "namespaces": [
                {"slug": namespace.slug, "role": role}
                for namespace, role in people_selectors.namespaces_of(user)
            ],
            "scopes": user.access_token.scopes if user.access_token else SCOPES,
        }


class TokenList(View):
    """The caller's tokens."""

    @listing("tokens_list", TokenOutput, by="id")
    def get(self) -> QuerySet[AccessToken]:
        """List tokens, without their secrets."""
        return selectors.tokens(self.request.user)

    @operation("tokens_create", IssuedTokenOutput, reads=TokenInput, status=201)
    def post(self, **fields: Any) -> Any:
        """Create a token; only this response contains its secret."""
        row: Any
        row, row.token = tokens.create(self.request.user, **fields)
        return row


class TokenDetail(View):
    """One token."""

    @operation("tokens_revoke")
    def delete(self) -> None:
        """Revoke a token immediately."""
        tokens.revoke(self.request.user, token_id=self.kwargs["token_id"])
