"""Challenges: a random number that a record must contain, for one user, version and record.

It seeds the inputs of the run, so that the outputs cannot be known beforehand; and a record cannot
be older than its challenge, nor be sent twice.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core.permissions import Actor, require_user
from registry.models import User, Version
from registry.versions import selectors as registry
from runners.benchmarks import record_consistency
from runners.engine.benchmark import record as form
from runners.engine.benchmark.typed_record import Record
from runners.models import Challenge

# Long enough for a sweep; a longer run needs another challenge.
_LASTS = timedelta(hours=12)
_MOST_OPEN = 20
# What must be left of a challenge that is used again: a usual measurement.
_LEAST_LEFT = timedelta(hours=1)
# Times of a record are in whole seconds.
_ROUNDING = timedelta(seconds=2)
_CURE = "Request one with POST …/benchmarks/challenges, or use `hub bench --contribute`"


@transaction.atomic
def issue(actor: Actor, *, version: Version, reuse: bool = False) -> Challenge:
    """Issue a challenge for a record of a version; with ``reuse``, the oldest open one instead.

    Raises NotAuthenticated, AccessNeeded, StateConflict, and QuotaExceeded where too many are open.
    """
    user = require_user(actor, "read", of=version.model)
    registry.require_files(actor, version.model)
    registry.require_served(version, "versions can have benchmarks")
    now = timezone.now()
    mine = Challenge.objects.filter(user=user)
    mine.filter(used_at=None, expires_at__lt=now).delete()
    unused = mine.filter(used_at=None, version=version, expires_at__gt=now + _LEAST_LEFT)
    if reuse and (challenge := unused.first()):
        return challenge
    if mine.filter(used_at=None).count() >= _MOST_OPEN:
        raise problems.QuotaExceeded(
            f"You have {_MOST_OPEN} open challenges. Use one of them, or wait until they expire "
            f"({_LASTS.total_seconds() / 3600:g} hours after they were issued)."
        )
    return Challenge.objects.create(
        nonce=secrets.token_hex(32),
        user=user,
        version=version,
        issued_at=now,
        expires_at=now + _LASTS,
    )


def expect(user: User, version: Version, record: Record) -> None:
    """Use up the challenge of a record that is about to be kept; raises RecordInvalid.

    Call it in the transaction that keeps the record.
    """
    nonce, now = record.challenge, timezone.now()
    challenge = Challenge.objects.filter(nonce=nonce, user=user, version=version).first()
    words = ""
    if nonce == form.NOT_APPLICABLE:
        words = "a contributed record must contain a challenge of this hub"
    elif challenge is None:
        words = f"this hub did not issue this challenge to you for {version.ref}"
    elif challenge.used_at is not None:
        words = "this challenge was already used for another record"
    elif challenge.expires_at <= now:
        words = f"this challenge expired at {challenge.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    if words or challenge is None:
        raise record_consistency.refusal("challenge", words, rule="challenge", cure=f"{_CURE}.")
    _expect_in_time(record, challenge, now)
    _expect_seed(record)
    used = Challenge.objects.filter(pk=nonce, used_at=None).update(used_at=now)
    if not used:
        words = "this challenge was already used for another record"
        raise record_consistency.refusal("challenge", words, rule="challenge", cure=f"{_CURE}.")


def free(user: User, version: Version, nonce: str) -> None:
    """Open the challenge of a refused record again, as far as it lasts."""
    Challenge.objects.filter(nonce=nonce, user=user, version=version).update(used_at=None)


def _expect_in_time(record: Record, challenge: Challenge, now: datetime) -> None:
    """A record begins after its challenge: its duration fits between, whatever its clock says."""
    spent = max(part.ended_at for part in record.parts) - record.started_at
    if spent > now - challenge.issued_at + _ROUNDING:
        raise record_consistency.refusal(
            "started_at",
            f"the measurement took {spent.total_seconds():g} s, and its challenge was issued "
            f"{(now - challenge.issued_at).total_seconds():.0f} s ago",
            rule="challenge",
            cure="Measure after the challenge was issued.",
        )


def _expect_seed(record: Record) -> None:
    seed = form.seed_of(record.challenge)
    for part in record.parts:
        if part.challenge != record.challenge or part.config.seed != seed:
            raise record_consistency.refusal(
                "config.seed",
                f"the inputs of a contributed record must use the seed of its challenge, {seed}",
                rule="challenge",
                cure="Measure with `hub bench --contribute`, without --seed.",
            )
