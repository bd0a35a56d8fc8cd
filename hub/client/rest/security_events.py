"""The REST operations of security events, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from hub.client.rest.calls import Group


@dataclass(frozen=True, kw_only=True)
class SecurityEvent:
    """Who did what, when, from where, and in which request."""

    # higher for entries that were written later
    id: int
    at: datetime
    # such as sign_in, download, or the verb of an event
    kind: str
    # null for a guest, or a name of no account
    actor: str | None = None
    # as HUB_PROXIES lets it be believed
    address: str
    # beginning and name of the token; empty for a session
    token: str
    # such as version; empty for a sign-in
    subject_kind: str
    # key of the subject among its kind
    subject_id: str
    model: str | None = None
    # the X-Request-Id, which events and logs name too
    request_id: str
    # details, which depend on the kind
    data: Any


class SecurityEventsGroup(Group):
    """The operations of security events."""

    def list(
        self,
        *,
        actor: Annotated[str | None, "only what this user did"] = None,
        address: Annotated[str | None, "only what came from this address"] = None,
        kind: Annotated[str | None, "only this kind, such as sign_in_failed"] = None,
        model: Annotated[str | None, "only events of this model, such as zoo/digits"] = None,
        request_id: Annotated[str | None, "only what this request did"] = None,
        since: Annotated[datetime | str | None, "only events at or after this time"] = None,
        subject: Annotated[
            str | None, "only events of this kind of subject, or of one subject: user or user/12"
        ] = None,
        until: Annotated[datetime | str | None, "only events before this time"] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[SecurityEvent]:
        """List sign-ins, changes and protected downloads, newest first; for administrators."""
        return self._pages(
            SecurityEvent,
            "security-events",
            query={
                "actor": actor,
                "address": address,
                "kind": kind,
                "model": model,
                "request_id": request_id,
                "since": since,
                "subject": subject,
                "until": until,
            },
            limit=limit,
        )
