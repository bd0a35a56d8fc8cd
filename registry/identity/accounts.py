"""Accounts of people that a provider or directory names: no password, and a free name."""

from __future__ import annotations

import re
from collections.abc import Collection

from allauth.account.models import EmailAddress

from hub.protocol import problems
from registry.models import User
from registry.people.services import users

_MOST_NAMES = 100


def expect_free(emails: Collection[str], *, title: str) -> None:
    """Refuse a second account for an address: an address alone is no way into an account.

    Raises StateConflict. Its owner connects the two under Account.
    """
    lowered = [email.lower() for email in emails if email]
    if EmailAddress.objects.filter(email__in=lowered).exists() or any(
        User.objects.filter(email__iexact=email).exists() for email in lowered
    ):
        raise problems.StateConflict(
            "An account of this hub has your e-mail address. Sign in with its password, then "
            f"connect it with {title} under Account."
        )


def create_named_like(name: str, *, email: str) -> User:
    """Make an account of this name, or of the first free name with a number behind it.

    What a name of the hub cannot have becomes a hyphen. Raises StateConflict where none is free.
    """
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:80] or "user"
    for number in range(1, _MOST_NAMES):
        try:
            return users.create(
                username=stem if number == 1 else f"{stem}-{number}", email=email, password=None
            )
        except (problems.NameTaken, problems.NameReserved):
            continue
    raise problems.StateConflict("No free name is like yours. Ask an administrator.")
