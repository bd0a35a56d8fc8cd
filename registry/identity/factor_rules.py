"""Which accounts must have a second factor, by the roles that HUB_SECOND_FACTOR_ROLES names."""

from __future__ import annotations

from django.conf import settings

from registry.core import directories, second_factors
from registry.models import Membership, Namespace, User


def is_due(user: User) -> bool:
    """Whether an account must set a second factor up.

    One that no password signs in to has a provider alone, whose second factors count.
    """
    roles = settings.HUB_SECOND_FACTOR_ROLES
    return (
        bool(roles)
        and (user.has_usable_password() or directories.knows(user))
        and _has_role(user, roles)
        and not second_factors.has_any(user)
    )


def _has_role(user: User, roles: list[str]) -> bool:
    if user.is_superuser and "administrator" in roles:
        return True
    return Membership.objects.filter(
        user=user, role__in=roles, namespace__kind=Namespace.Kind.ORG
    ).exists()
