"""Who a request comes from, and the tokens they sign in with."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.inputs import Input
from registry.api.operations import View, command, operation, rows
from registry.api.outputs import Column, Columns, Output
from registry.api.people import MembershipOutput, memberships
from registry.api.token_shapes import IssuedTokenOutput, TokenOutput, names, scopes_column
from registry.core.permissions import SCOPES, require_user
from registry.models import User
from registry.people import selectors
from registry.people.services import tokens


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
        scopes_column(),
        "namespace",
        Column("namespaces", **names("namespace that the token is limited to; repeatable")),
        Column("models", **names("model that the token is limited to; repeatable")),
        "expires_days",
        of=tokens.create,
    )


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
