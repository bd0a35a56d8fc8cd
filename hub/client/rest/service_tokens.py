"""The REST operations of service tokens, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part
from hub.client.rest.shared import IssuedToken, Token


class ServiceTokensGroup(Group):
    """The operations of service tokens."""

    def create(
        self,
        slug: str,
        username: str,
        *,
        name: str,
        scopes: Sequence[str],
        models: Annotated[
            Sequence[str] | None, "model that the token is limited to; repeatable"
        ] = None,
        expires_days: int | None = None,
    ) -> IssuedToken:
        """Create a token of a service account; only this response contains its secret."""
        return self._call(
            IssuedToken,
            "POST",
            f"namespaces/{part(slug)}/service-accounts/{part(username)}/tokens",
            content=json_of(
                {"name": name, "scopes": scopes, "models": models, "expires_days": expires_days}
            ),
        )

    def list(
        self,
        slug: str,
        username: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Token]:
        """List the tokens of a service account, without their secrets; for owners."""
        return self._pages(
            Token, f"namespaces/{part(slug)}/service-accounts/{part(username)}/tokens", limit=limit
        )

    def revoke(self, slug: str, username: str, token_id: int) -> None:
        """Revoke a token of a service account immediately; for owners."""
        self._do(
            "DELETE",
            f"namespaces/{part(slug)}/service-accounts/{part(username)}/tokens/{part(token_id)}",
        )
