"""Second factors of accounts, which a capability keeps; without one no account has any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.models import User


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """What keeps second factors: whether an account has one beside its password."""

    has_any: Callable[[User], bool]


second_factors = Port(SecondFactors)


def has_any(user: User) -> bool:
    """Whether a password alone does not sign in to an account."""
    return user.pk is not None and any(factors.has_any(user) for factors in second_factors)
