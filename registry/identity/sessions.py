"""Sessions of accounts: device, address, time of last use, and ending them.

A session is a row of Django's; a row of ours beside it has device and address. Its use is noted by
reads and written within seconds, at most once in ``NOTED_SECONDS`` for each web process: so the
time of last use, and the idle limit that it moves, are exact to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.cache import caches
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from hub.protocol import problems
from registry.api import throttles
from registry.core import security_log, usage
from registry.core.permissions import Actor, require_admin, require_user
from registry.core.security_log import Kind
from registry.identity.models import AccountSession
from registry.models import User

NOTED_SECONDS = 600
LONGEST_DEVICE = 200


@dataclass(frozen=True, slots=True)
class Use:
    """A request of a session: which, whose, from where, and when."""

    session_key: str
    user_id: int
    address: str
    device: str
    at: datetime


def device_of(request: HttpRequest) -> str:
    """What a browser calls itself, shortened."""
    return request.headers.get("User-Agent", "")[:LONGEST_DEVICE]


def begin(request: HttpRequest, user: User) -> None:
    """Keep device and address of a new session, in the transaction of the sign-in."""
    _keep(_use(request, user))


def note_use(request: HttpRequest, user: User) -> None:
    """Note that a session is used; the first use of a session that began before is kept too."""
    key = request.session.session_key
    if key and caches["process"].add(f"session:{key}", 1, NOTED_SECONDS):
        usage.notes.add_entry(_record_uses, _use(request, user))


def move(old: str, new: str) -> None:
    """Follow a session to its new key."""
    AccountSession.objects.filter(session_key=old).update(session_key=new)


def of_account(actor: Actor, user: User) -> list[AccountSession]:
    """The sessions of an account that have not ended, last used first; raises NotAllowed.

    Everyone lists and ends their own sessions, and administrators those of all accounts.
    """
    _require_own(actor, user)
    rows = list(AccountSession.objects.filter(user=user))
    live = Session.objects.filter(
        session_key__in=[row.session_key for row in rows], expire_date__gt=timezone.now()
    )
    keys = {session.session_key for session in live if _is_signed_in(session, user)}
    return [row for row in rows if row.session_key in keys]


@transaction.atomic
def end(actor: Actor, *, user: User, session_id: int) -> None:
    """End a session, which no request gets through any more; raises NotAllowed and NotFound."""
    _require_own(actor, user)
    row = problems.expect(
        AccountSession.objects.filter(pk=session_id, user=user).first(),
        problems.NotFound("There is no such session. It may have ended."),
    )
    _end(actor, user, [row.session_key])


@transaction.atomic
def end_all(actor: Actor, *, user: User, but: str | None = None) -> int:
    """End all sessions except that of the key ``but``; returns how many, raises NotAllowed."""
    _require_own(actor, user)
    return _end(actor, user, [key for key in _keys_of(user) if key != but])


def end_of(user: User, *, by: Actor) -> None:
    """End all sessions of an account, without asking who may."""
    _end(by, user, _keys_of(user))


def tidy() -> int:
    """Delete expired sessions, and those older than HUB_SESSION_DAYS; returns how many."""
    now = timezone.now()
    oldest = now - timedelta(days=settings.HUB_SESSION_DAYS)
    old = AccountSession.objects.filter(created_at__lt=oldest).values_list("session_key")
    Session.objects.filter(session_key__in=old).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    live = Session.objects.values_list("session_key")
    return AccountSession.objects.exclude(session_key__in=live).delete()[0]


def forget(key: str) -> None:
    """Delete what is kept of a session that ended by itself."""
    AccountSession.objects.filter(session_key=key).delete()


def _require_own(actor: Actor, user: User) -> None:
    if require_user(actor, "admin") != user:
        require_admin(actor)


def _keys_of(user: User) -> list[str]:
    """The keys of all sessions of an account, with a row of ours or without."""
    keys = set(AccountSession.objects.filter(user=user).values_list("session_key", flat=True))
    unknown = Session.objects.filter(expire_date__gt=timezone.now()).exclude(
        session_key__in=AccountSession.objects.values_list("session_key")
    )
    keys |= {row.session_key for row in unknown.iterator() if _is_of(row, user)}
    return sorted(keys)


def _end(actor: Actor, user: User, keys: Sequence[str]) -> int:
    deleted = Session.objects.filter(session_key__in=keys).delete()[0]
    AccountSession.objects.filter(session_key__in=keys).delete()
    security_log.report(
        Kind.SESSION_ENDED, actor=actor, subject=("user", user.pk), data={"sessions": deleted}
    )
    return deleted


def _is_of(session: Session, user: User) -> bool:
    return str(session.get_decoded().get(SESSION_KEY)) == str(user.pk)


def _is_signed_in(session: Session, user: User) -> bool:
    """Whether the password is still that of the session's sign-in."""
    digest = session.get_decoded().get(HASH_SESSION_KEY, "")
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return _is_of(session, user) and any(constant_time_compare(digest, each) for each in hashes)


def _use(request: HttpRequest, user: User) -> Use:
    plain: Any = request
    address = throttles.client_address(plain)
    key = str(request.session.session_key)
    return Use(key, user.pk, address, device_of(request), timezone.now())


def _record_uses(uses: Sequence[Use]) -> None:
    """Write uses, and move the idle limit of their sessions; one that ended is not revived."""
    for use in uses:
        with transaction.atomic():
            idle = use.at + timedelta(days=settings.HUB_SESSION_IDLE_DAYS)
            if Session.objects.filter(pk=use.session_key).update(expire_date=idle):
                _keep(use)


def _keep(use: Use) -> None:
    AccountSession.objects.update_or_create(
        session_key=use.session_key,
        defaults={
            "user_id": use.user_id,
            "address": use.address,
            "device": use.device,
            "last_seen_at": use.at,
        },
    )
