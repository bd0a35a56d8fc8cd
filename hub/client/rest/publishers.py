"""The REST operations of publishers, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """A trusted publisher."""

    id: int
    provider: str
    issuer: str
    repository: str
    workflow: str
    environment: str
    model: str | None = None
    account: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class PublisherToken:
    """A token of minutes; only this response contains it."""

    expires_at: datetime
    account: str
    token: str


class PublishersGroup(Group):
    """The operations of publishers."""

    def create(
        self,
        slug: str,
        *,
        issuer: Annotated[str, "one that this hub trusts"],
        repository: Annotated[str, "such as acme/models"],
        workflow: Annotated[str, "its file, such as publish.yml"],
        environment: Annotated[str | None, "environment to require"] = None,
        model: Annotated[str | None, "the only model, such as acme/net"] = None,
        account: Annotated[
            str | None, "service account to act as (default: publisher, made if there is none)"
        ] = None,
    ) -> Publisher:
        """Trust a workflow, which then gets tokens of minutes without a stored secret; for owners."""
        return self._call(
            Publisher,
            "POST",
            f"namespaces/{part(slug)}/publishers",
            content=json_of(
                {
                    "issuer": issuer,
                    "repository": repository,
                    "workflow": workflow,
                    "environment": environment,
                    "model": model,
                    "account": account,
                }
            ),
        )

    def delete(self, slug: str, key: str) -> None:
        """Trust a workflow no longer; for owners."""
        self._do("DELETE", f"namespaces/{part(slug)}/publishers/{part(key)}")

    def exchange(
        self,
        *,
        token: Annotated[str, "JSON Web Token"],
        model: Annotated[str | None, "the model to publish"] = None,
    ) -> PublisherToken:
        """Exchange the identity token of a workflow for a token of 15 minutes."""
        return self._call(
            PublisherToken,
            "POST",
            "publishers/token",
            content=json_of({"token": token, "model": model}),
        )

    def list(
        self,
        slug: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Publisher]:
        """List the trusted publishers of an organisation; for owners."""
        return self._pages(Publisher, f"namespaces/{part(slug)}/publishers", limit=limit)
