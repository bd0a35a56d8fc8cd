"""The REST operations of tokens, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part
from hub.client.rest.shared import IssuedToken, Token


class TokensGroup(Group):
    """The operations of tokens."""

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[str],
        namespace: str | None = None,
        namespaces: Annotated[
            Sequence[str] | None, "namespace that the token is limited to; repeatable"
        ] = None,
        models: Annotated[
            Sequence[str] | None, "model that the token is limited to; repeatable"
        ] = None,
        expires_days: int | None = None,
    ) -> IssuedToken:
        """Create a token; only this response contains its secret."""
        return self._call(
            IssuedToken,
            "POST",
            "tokens",
            content=json_of(
                {
                    "name": name,
                    "scopes": scopes,
                    "namespace": namespace,
                    "namespaces": namespaces,
                    "models": models,
                    "expires_days": expires_days,
                }
            ),
        )

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[Token]:
        """List tokens, without their secrets."""
        return self._pages(Token, "tokens", limit=limit)

    def revoke(self, token_id: int) -> None:
        """Revoke a token immediately."""
        self._do("DELETE", f"tokens/{part(token_id)}")
