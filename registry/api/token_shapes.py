"""The shapes of tokens: of users and of service accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from registry.api.inputs import Items
from registry.api.outputs import Column, Columns, Output
from registry.core.permissions import SCOPES
from registry.models import AccessToken
from registry.people.services import tokens

_LIMITED = "names that the token is limited to, as far as you may know of them"


def names(text: str) -> dict[str, Any]:
    """The options of a column of names."""
    return {
        "field": Items,
        "child": serializers.CharField(max_length=200),
        "max_length": tokens.MOST_LIMITS,
        "default": [],
        "help_text": text,
    }


def scopes_column() -> Column:
    """The column of the scopes of a new token."""
    return Column(
        "scopes",
        field=Items,
        child=serializers.CharField(),
        min_length=1,
        max_length=len(SCOPES),
    )


class TokenOutput(Output[AccessToken]):
    """A token, without its secret."""

    columns = Columns(
        "id",
        "name",
        "prefix",
        "scopes",
        Column("namespace", "namespace.slug"),
        Column("namespaces", kind=Sequence[str], help_text=_LIMITED),
        Column("models", kind=Sequence[str], help_text=_LIMITED),
        Column("is_limited", "has_limits", kind=bool),
        "created_at",
        "expires_at",
        "last_used_at",
    )

    scopes = serializers.ListField(child=serializers.CharField())


class IssuedTokenOutput(TokenOutput):
    """A new token; only this response contains its secret."""

    token = serializers.CharField()
