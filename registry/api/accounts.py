"""Who a request comes from, and the tokens they sign in with."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.inputs import Input, Items
from registry.api.operations import View, command, operation, rows
from registry.api.outputs import Column, Columns, Output
from registry.api.people import MembershipOutput, memberships
from registry.core.permissions import SCOPES, require_user
from registry.models import AccessToken, User
from registry.people.services import tokens
from registry.versions import selectors


class WhoamiOutput(Output[User]):
    """The user of the request."""

    columns = Columns(
        Column("username", kind=str),
        Column("namespaces", field=MembershipOutput, many=True),
        Column("scopes", field=serializers.ListField, child=serializers.ChoiceField(SCOPES)),
    )


class TokenInput(Input):
    """A new token."""

    columns = Columns(
        Column("name", max_length=100),
        Column(
            "scopes",
            field=Items,
            child=serializers.CharField(),
            min_length=1,
            max_length=len(SCOPES),
        ),
        "namespace",
        "expires_days",
        of=tokens.create,
    )


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


class Account(View):
    """Who the caller is, and their tokens."""

    @operation("whoami", WhoamiOutput)
    def read(self) -> dict[str, Any]:
        """Read your name, namespaces and scopes. Returns 401 without a login."""
        user = require_user(self.request.user, any_namespace=True)
        return {
            "username": user.username,
            "namespaces": memberships(user),
            "scopes": user.access_token.scopes if user.access_token else SCOPES,
        }

    token_list = rows(
        "tokens_list",
        selectors.tokens,
        "List tokens, without their secrets.",
        TokenOutput,
        by="id",
    )

    @operation("tokens_create", IssuedTokenOutput, reads=TokenInput, status=201)
    def create_token(self, **fields: Any) -> Any:
        """Create a token; only this response contains its secret."""
        row: Any
        row, row.token = tokens.create(self.request.user, **fields)
        return row

    revoke_token = command(
        "tokens_revoke", tokens.revoke, "Revoke a token immediately.", targets=("token_id",)
    )
