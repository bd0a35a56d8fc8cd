"""Who belongs to a namespace, and every account: what members and administrators may read."""

from __future__ import annotations

from django.db.models import Count, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Lower

from hub.protocol import problems, refs
from registry.core.permissions import ROLES, Actor, can, require, require_admin, require_user
from registry.models import (
    AccessToken,
    Blob,
    Membership,
    Namespace,
    RegisteredModel,
    TokenLimit,
    User,
)


def namespaces_of(actor: Actor, lowest: str = "reader") -> list[tuple[Namespace, str]]:
    """The actor's namespaces with their role there, from ``lowest`` role up."""
    if not actor.is_authenticated:
        return []
    enough = ROLES[ROLES.index(lowest) :]
    if actor.is_admin:
        return [(namespace, Membership.Role.OWNER.value) for namespace in Namespace.objects.all()]
    rows = Membership.objects.filter(user=actor, role__in=enough).select_related("namespace")
    if actor.reach:
        rows = rows.filter(actor.reach.rows())
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
    return problems.expect(
        by_slug(slug).first(), problems.NotFound(f"There is no namespace {slug}.")
    )


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
    """The users in a namespace by name; hundreds at most, so all of them."""
    rows = Membership.objects.filter(namespace=of, user__service_of=None).select_related("user")
    return list(rows.order_by("user__username"))


def roles_of(actor: Actor, user: User) -> QuerySet[Membership]:
    """The roles of a user in namespaces, for administrators."""
    require_admin(actor)
    return user.memberships.select_related("namespace").order_by("namespace__slug")


def user(username: str) -> User:
    """A user by name, ignoring case; raises NotFound."""
    return problems.expect(
        User.objects.filter(username__iexact=username).first(),
        problems.NotFound(f"User {username} not found. Administrators can add users."),
    )


def service_accounts(actor: Actor, of: Namespace) -> list[User]:
    """The service accounts of an organisation that are not closed, for its members, by name.

    ``role`` is that in the organisation.
    """
    role = Membership.objects.filter(namespace=of, user=OuterRef("pk")).values("role")
    if not can(actor, "namespace.read", of):
        return []
    rows = of.service_accounts.filter(is_active=True).order_by("username")
    return list(rows.annotate(role=Subquery(role)).select_related("service_of"))


def service_account(actor: Actor, of: Namespace, username: str) -> User:
    """One of them by its name with or without that of the organisation; raises NotFound."""
    names = {username.lower(), f"{of.slug}+{username}".lower()}
    rows = service_accounts(actor, of)
    return problems.expect(
        next((row for row in rows if row.username.lower() in names), None),
        problems.NotFound(f"{of.slug} has no service account {username}."),
    )


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


def tokens(actor: Actor) -> QuerySet[AccessToken]:
    """The actor's own tokens, with those of their limits that the actor may know of."""
    user = require_user(actor, "admin")
    return _with_limits(AccessToken.objects.filter(user=user), actor)


def service_tokens(actor: Actor, account: User) -> QuerySet[AccessToken]:
    """The tokens of a service account; raises NotAllowed for all but owners of its organisation."""
    assert account.service_of is not None  # noqa: S101 - no other account has such tokens
    require(actor, "member.edit", account.service_of)
    return _with_limits(AccessToken.objects.filter(user=account), actor)


def _with_limits(rows: QuerySet[AccessToken], actor: Actor) -> QuerySet[AccessToken]:
    """Tokens with those of their limits that the actor may know of."""
    models = RegisteredModel.objects.visible_to(actor).order_by()
    limits = TokenLimit.objects.filter(Q(model=None) | Q(model__in=models))
    related = limits.select_related("namespace", "model__namespace")
    return rows.select_related("namespace").prefetch_related(Prefetch("limits", related))
