"""Who belongs to a namespace, and every account: what members and administrators may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Lower

from hub.protocol import problems, refs
from registry.core.permissions import ROLES, can, require_admin
from registry.models import Blob, Membership, Namespace, User

if TYPE_CHECKING:
    from registry.core.permissions import Actor


def namespaces_of(actor: Actor, lowest: str = "reader") -> list[tuple[Namespace, str]]:
    """The actor's namespaces with their role there, from ``lowest`` role up."""
    if not actor.is_authenticated:
        return []
    enough = ROLES[ROLES.index(lowest) :]
    if actor.is_admin:
        return [(namespace, Membership.Role.OWNER.value) for namespace in Namespace.objects.all()]
    rows = Membership.objects.filter(user=actor, role__in=enough).select_related("namespace")
    if actor.bound_to:
        rows = rows.filter(namespace=actor.bound_to)
    return [(row.namespace, row.role) for row in rows.order_by("namespace__slug")]


def publishing_namespaces(actor: Actor) -> list[Namespace]:
    """Where one may publish: the hub's own namespace first, then one's own, then the others."""
    first = (refs.DEFAULT_NAMESPACE, actor.username)
    mine = [namespace for namespace, _ in namespaces_of(actor, "writer")]
    return sorted(
        mine,
        key=lambda namespace: (
            first.index(namespace.slug) if namespace.slug in first else len(first)
        ),
    )


def namespace(slug: str) -> Namespace:
    """A namespace by its slug, ignoring case."""
    row = by_slug(slug).first()
    if row is None:
        raise problems.NotFound(f"There is no namespace {slug}.")
    return row


def by_slug(slug: str) -> QuerySet[Namespace]:
    """A namespace by its slug, ignoring case in the way that its unique index does."""
    return Namespace.objects.alias(lower_slug=Lower("slug")).filter(lower_slug=slug.lower())


def own_namespace(actor: Actor, slug: str) -> Namespace:
    """A namespace that the actor belongs to; to others it looks as if there were none."""
    row = namespace(slug)
    if not can(actor, "namespace.read", row):
        raise problems.NotFound(f"There is no namespace {slug}.")
    return row


def members(of: Namespace) -> list[Membership]:
    """The members of a namespace by name; hundreds at most, so all of them."""
    rows = Membership.objects.filter(namespace=of).select_related("user")
    return list(rows.order_by("user__username"))


def user(username: str) -> User:
    """A user by name, ignoring case; raises NotFound."""
    row = User.objects.filter(username__iexact=username).first()
    if row is None:
        raise problems.NotFound(f"User {username} not found. Administrators can add users.")
    return row


def users(actor: Actor, *, text: str = "") -> QuerySet[User]:
    """Every account, for administrators: those whose name or address holds ``text``."""
    require_admin(actor)
    rows = User.objects.annotate(n_tokens=Count("tokens", distinct=True))
    if text:
        rows = rows.filter(Q(username__icontains=text) | Q(email__icontains=text))
    return rows


def stored() -> dict[str, int]:
    """How many contents the hub keeps, and their bytes; each counts once."""
    totals = Blob.objects.aggregate(files=Count("pk"), bytes=Sum("size"))
    return {"files": totals["files"], "bytes": totals["bytes"] or 0}
