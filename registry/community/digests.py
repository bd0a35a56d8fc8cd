"""Digests of watched models by mail: who wants them, and when the next one is due.

A digest is sent at most once. Its time moves on before the mail is handed over, and what it covers
afterwards, so a process that is killed in between leaves its news to the next digest.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core import signing
from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import mail
from registry.core.permissions import Actor, require_user
from registry.models import User, WatchDigest

Interval = WatchDigest.Interval
NEVER = "never"
PERIODS = {Interval.DAILY: timedelta(days=1), Interval.WEEKLY: timedelta(days=7)}
AGAIN = timedelta(hours=1)
_SALT = "watch-digest"


def interval(actor: Actor) -> str:
    """How often the actor gets a digest: daily, weekly or never; raises NotAuthenticated."""
    user = require_user(actor)
    rows = WatchDigest.objects.filter(user=user).values_list("interval", flat=True)
    return rows.first() or NEVER


@transaction.atomic
def set_interval(actor: Actor, *, interval: str) -> str:
    """Choose how often; the first digest comes after one interval, with the news since now.

    Raises NotAuthenticated, NotAllowed, and StateConflict where no mail can be sent.
    """
    user = require_user(actor, "write")
    if interval == NEVER:
        WatchDigest.objects.filter(user=user).delete()
        return interval
    if not mail.is_possible():
        raise problems.StateConflict("This hub sends no mail. Ask an administrator.")
    if not user.email:
        raise problems.StateConflict("Your account has no e-mail address. Add one first.")
    now = timezone.now()
    next_at = now + PERIODS[Interval(interval)]
    digest, is_new = WatchDigest.objects.get_or_create(
        user=user, defaults={"interval": interval, "next_at": next_at, "covered_until": now}
    )
    if not is_new and digest.interval != interval:
        digest.interval, digest.next_at = interval, next_at
        digest.save(update_fields=["interval", "next_at"])
    return interval


def secret_of(user: User) -> str:
    """What stands in the link that ends the digests of a user, without signing in."""
    return signing.dumps(user.pk, salt=_SALT)


def reader_of(secret: str) -> User:
    """The user whose digests a link ends; raises NotFound for a wrong one."""
    try:
        key = signing.loads(secret, salt=_SALT)
    except signing.BadSignature:
        key = 0
    return problems.expect(
        User.objects.filter(pk=key).first(),
        problems.NotFound("This link is incomplete. Change your digest under Watching."),
    )


def unsubscribe(secret: str) -> None:
    """End the digests of the user of a link; doing it again changes nothing. Raises NotFound."""
    WatchDigest.objects.filter(user=reader_of(secret)).delete()


def due() -> list[WatchDigest]:
    """The digests that are due, of active accounts with an e-mail address."""
    rows = WatchDigest.objects.filter(next_at__lte=timezone.now(), user__is_active=True)
    return list(rows.exclude(user__email="").select_related("user").order_by("next_at", "pk"))


def claim(digest: WatchDigest) -> bool:
    """Move the time of a digest on; False where another process has done so, or it was ended."""
    now = timezone.now()
    period = PERIODS[Interval(digest.interval)]
    following = digest.next_at + period
    following = following if following > now else now + period
    rows = WatchDigest.objects.filter(pk=digest.pk, next_at=digest.next_at)
    return bool(rows.update(next_at=following))


def complete(digest: WatchDigest, until: datetime) -> None:
    """Note that what happened until then was sent."""
    WatchDigest.objects.filter(pk=digest.pk).update(covered_until=until)


def postpone(digest: WatchDigest) -> None:
    """Try again in an hour, since the mail server refused the mail."""
    WatchDigest.objects.filter(pk=digest.pk).update(next_at=timezone.now() + AGAIN)
