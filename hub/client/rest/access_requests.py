"""The REST operations of access requests, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import AccessRequest


class AccessRequestsGroup(Group):
    """The operations of access requests."""

    def decide(
        self,
        model: str,
        username: str,
        *,
        status: Literal["pending", "accepted", "rejected"],
        reason: Annotated[str | None, "reason for a rejection"] = None,
    ) -> AccessRequest:
        """Accept or reject a request; accepting a user without a request also grants access.

        A user who is granted access, or accepted while the model is private, sees it while it is
        private.
        """
        return self._call(
            AccessRequest,
            "PUT",
            f"models/{model_path(model)}/access/requests/{part(username)}",
            content=json_of({"status": status, "reason": reason}),
        )

    def list(
        self,
        model: str,
        *,
        status: Literal["accepted", "pending", "rejected"] | None = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[AccessRequest]:
        """List access requests, newest first; for maintainers."""
        return self._pages(
            AccessRequest,
            f"models/{model_path(model)}/access/requests",
            query={"status": status},
            limit=limit,
        )
