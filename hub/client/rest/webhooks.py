"""The REST operations of webhooks, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """An event for a webhook, and how its last attempt ended."""

    id: int
    # the header webhook-id
    message_id: str
    event: str
    event_id: int
    # pending: sent again at `next_at`; withheld: the user may not read it
    state: str
    attempts: int
    next_at: datetime
    attempted_at: datetime | None
    status: int | None
    # duration of the last attempt
    milliseconds: int | None
    answer: str
    error: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A webhook, and how its last attempts went."""

    id: int
    url: str
    # events to receive, such as version.published
    events: tuple[str, ...]
    namespace: str | None = None
    model: str | None = None
    # it receives what this user may read
    user: str
    state: str
    reason: str
    # since when every attempt failed; null otherwise
    failing_since: datetime | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class NewSecret(Webhook):
    """A webhook with its secret."""

    # whsec_ and base64; it is shown this once
    secret: str


class WebhooksGroup(Group):
    """The operations of webhooks."""

    def create(
        self,
        *,
        url: Annotated[str, "https://host/path; deliveries are POST requests to it"],
        events: Annotated[Sequence[str], "events to receive, such as version.published"],
        namespace: Annotated[str | None, "for its owners"] = None,
        model: Annotated[
            str | None, "instead of a namespace: a model that you can read, such as zoo/digits"
        ] = None,
    ) -> NewSecret:
        """Register an address for events; the answer has the secret that signs them."""
        return self._call(
            NewSecret,
            "POST",
            "webhooks",
            content=json_of({"url": url, "events": events, "namespace": namespace, "model": model}),
        )

    def deliveries(
        self,
        webhook_id: str,
        *,
        state: Annotated[
            Literal["pending", "delivered", "failed", "withheld"] | None, "only this state"
        ] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Delivery]:
        """List the deliveries of a webhook of the last 30 days, newest first."""
        return self._pages(
            Delivery, f"webhooks/{part(webhook_id)}/deliveries", query={"state": state}, limit=limit
        )

    def edit(
        self,
        webhook_id: str,
        *,
        url: Annotated[str | None, "https://host/path; deliveries are POST requests to it"] = None,
        events: Annotated[
            Sequence[str] | None, "events to receive, such as version.published"
        ] = None,
        is_paused: Annotated[
            bool | None, "false also makes a disabled webhook active again"
        ] = None,
    ) -> Webhook:
        """Change the address or events of a webhook, pause or resume it."""
        return self._call(
            Webhook,
            "PATCH",
            f"webhooks/{part(webhook_id)}",
            content=json_of({"url": url, "events": events, "is_paused": is_paused}),
        )

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[Webhook]:
        """List webhooks, newest first."""
        return self._pages(Webhook, "webhooks", limit=limit)

    def read(self, webhook_id: str) -> Webhook:
        """Read a webhook."""
        return self._call(Webhook, "GET", f"webhooks/{part(webhook_id)}")

    def remove(self, webhook_id: str) -> None:
        """Remove a webhook and its deliveries."""
        self._do("DELETE", f"webhooks/{part(webhook_id)}")

    def replay(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Send a delivery again, under the same message id."""
        return self._call(
            Delivery, "POST", f"webhooks/{part(webhook_id)}/deliveries/{part(delivery_id)}/replay"
        )

    def rotate(self, webhook_id: str) -> NewSecret:
        """Replace the secret. For 24 hours, messages are signed with both."""
        return self._call(NewSecret, "POST", f"webhooks/{part(webhook_id)}/secret")
