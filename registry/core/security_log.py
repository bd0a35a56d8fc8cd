"""The security log: sign-ins, refusals, tokens, rights and protected downloads, and from where.

Each entry is a line of JSON on standard error, flushed before the answer leaves. What is changed is
kept with the change, in its transaction; what is only read or refused is kept by the thread of
``registry.core.usage`` within seconds. Which tables keep entries is a port. An ``Event`` has no
address: the entry of the same request has it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from hub.protocol.ports import Port
from registry.core import usage
from registry.models import AccessToken, Event, User

log = structlog.get_logger(__name__)


class Kind(enum.StrEnum):
    """What the log has beside the verbs of events."""

    SIGN_IN = "sign_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGN_IN_REFUSED = "sign_in_refused"
    PASSWORD_REFUSED = "password_refused"  # noqa: S105 - the name of what happened
    TOKEN_REFUSED = "token_refused"  # noqa: S105
    ACCESS_REFUSED = "access_refused"
    TOKEN_FIRST_USED = "token_first_used"  # noqa: S105
    SESSION_ENDED = "session_ended"
    INVITATION_SENT = "invitation_sent"
    INVITATION_REVOKED = "invitation_revoked"
    DOWNLOAD = "download"


WARNINGS = frozenset(
    {
        Kind.SIGN_IN_FAILED,
        Kind.SIGN_IN_REFUSED,
        Kind.PASSWORD_REFUSED,
        Kind.TOKEN_REFUSED,
        Kind.ACCESS_REFUSED,
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened: who did it, from which address, with which token, in which request."""

    kind: str
    actor: User | None
    address: str
    token: AccessToken | None
    request_id: str
    subject_kind: str = ""
    subject_id: str = ""
    model_id: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    at: datetime = field(default_factory=timezone.now)

    def plain(self) -> dict[str, Any]:
        """What lines of logs say of it."""
        line = {"user": self.actor.username if self.actor else None, "address": self.address}
        if self.token:
            line["token"] = str(self.token)
        if self.subject_kind:
            line["subject"] = f"{self.subject_kind}/{self.subject_id}"
        return line | {"request_id": self.request_id} | self.data


@dataclass(frozen=True, slots=True)
class Keeper:
    """What keeps entries of the security log: one of a change in its transaction, or several."""

    keep: Callable[[Sequence[Entry]], None]


keepers = Port(Keeper)
# How the address of the request in progress is read; None outside of requests.
_address: ContextVar[Callable[[], str] | None] = ContextVar("address", default=None)


@contextmanager
def request_from(address: Callable[[], str]) -> Iterator[None]:
    """Within it, what happens is caused by a request from this address."""
    token = _address.set(address)
    try:
        yield
    finally:
        _address.reset(token)


def report(
    kind: Kind,
    *,
    actor: User | AnonymousUser | None = None,
    token: AccessToken | None = None,
    subject: tuple[str, object] = ("", ""),
    model_id: int | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Log what a request read, tried or was refused; it is kept within seconds.

    ``subject`` is a kind of row and its key.
    """
    entry = _entry(kind, actor, subject, model_id, token=token, data=data)
    write = log.warning if kind in WARNINGS else log.info
    write(kind.value, **entry.plain())
    for keeper in keepers:
        usage.notes.add_entry(keeper.keep, entry)


def keep_change(event: Event) -> None:
    """Keep from where a request changed something, in the transaction of its event."""
    if _address.get() is None:
        return
    subject = (event.subject_kind, event.subject_id)
    entry = _entry(event.verb, event.actor, subject, event.model_id)
    for keeper in keepers:
        keeper.keep([entry])


def _entry(
    kind: str,
    actor: User | AnonymousUser | None,
    subject: tuple[str, object],
    model_id: int | None,
    *,
    token: AccessToken | None = None,
    data: Mapping[str, Any] | None = None,
) -> Entry:
    user = actor if isinstance(actor, User) else None
    address = _address.get()
    return Entry(
        kind=str(kind),
        actor=user,
        address=address() if address else "",
        token=token or (user.access_token if user else None),
        request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
        subject_kind=subject[0],
        subject_id=str(subject[1]),
        model_id=model_id,
        data=dict(data or {}),
    )
