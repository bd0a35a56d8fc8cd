"""Accounts of people that an identity provider names: without a password, under a free name."""

from __future__ import annotations

import re

from hub.protocol import problems
from registry.models import User
from registry.people.services import users

_MOST_NAMES = 100


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
