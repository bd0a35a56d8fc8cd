"""Groups of a provider or a directory, which give roles in namespaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.db.models.functions import Lower

from hub.protocol import problems
from registry.core.permissions import ROLES, Actor, require_admin
from registry.models import Membership, Namespace, User
from registry.people import selectors
from registry.people.services import namespaces

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MappedGroup:
    """A group that settings give a role in a namespace, which may not exist."""

    provider: str
    group: str
    namespace: str
    role: str
    has_namespace: bool


def mapped(actor: Actor) -> list[MappedGroup]:
    """The groups that settings give roles, for administrators."""
    require_admin(actor)
    mappings = {
        settings.HUB_OIDC_NAME: settings.HUB_OIDC_GROUPS,
        settings.HUB_SAML_NAME: settings.HUB_SAML_GROUPS,
        "LDAP": settings.HUB_LDAP_GROUPS,
    }
    rows = [(provider, row) for provider, mapping in mappings.items() for row in mapping]
    slugs = {row.namespace.lower() for _, row in rows}
    spaces = Namespace.objects.filter(kind=Namespace.Kind.ORG).annotate(lower=Lower("slug"))
    present = set(spaces.filter(lower__in=slugs).values_list("lower", flat=True))
    return [
        MappedGroup(provider, row.group, row.namespace, row.role, row.namespace.lower() in present)
        for provider, row in rows
    ]


def follow(
    user: User,
    groups: Collection[str],
    mapping: Iterable[tuple[str, str, str]],
    *,
    actor: User | None = None,
) -> None:
    """Give a user the roles of their groups; the mapping has groups, namespaces and roles.

    In each namespace that the mapping names, the highest role counts; without a group that it names
    for it, the user leaves the namespace. A namespace that is missing, and one that would lose its
    last owner, stay as they are, with a line in the log.
    """
    roles_by_namespace: dict[str, list[str]] = {}
    for group, namespace, role in mapping:
        roles = roles_by_namespace.setdefault(namespace, [])
        if group in groups:
            roles.append(role)
    for slug, roles in roles_by_namespace.items():
        space = selectors.by_slug(slug).filter(kind=Namespace.Kind.ORG).first()
        if space is None:
            log.warning("group_without_namespace", namespace=slug)
            continue
        highest = max(roles, key=ROLES.index, default=None)
        present = Membership.objects.filter(namespace=space, user=user).first()
        if (present.role if present else None) == highest:
            continue
        try:
            namespaces.assign(actor, namespace=space, user=user, role=highest)
        except problems.StateConflict as problem:
            log.warning("group_not_followed", namespace=slug, user=user.pk, reason=problem.detail)
