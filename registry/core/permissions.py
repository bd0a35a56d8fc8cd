"""Who may do what: one table, read by services, selectors and pages alike.

A role belongs to a namespace, never to a single version. What one may not see answers "not found",
what one may not do answers "not allowed". A token that is limited to namespaces and models reaches
nothing else: whatever asks for a user refuses it, unless it names what the request is about.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from hub.protocol import problems
from registry.core.prepared_queries import Prepared
from registry.models import Membership, Namespace, RegisteredModel, User

Actor: TypeAlias = User | AnonymousUser

ROLES = [role.value for role in Membership.Role]
SCOPES = ["read", "write", "publish", "admin"]
# The scope of an identity provider's token, which reaches SCIM alone; no other scope reaches that.
PROVISION = "provision"


class Need(NamedTuple):
    """The lowest role, and the lowest token scope, for an action."""

    role: str
    scope: str


# A token of scope `write` may ask for publication once the checks pass; `publish` decides by hand.
ACTIONS = {
    "model.read": Need("reader", "read"),
    "model.create": Need("writer", "write"),
    "model.edit": Need("maintainer", "write"),
    "access.decide": Need("maintainer", "write"),
    "model.delete": Need("owner", "write"),
    "model.move": Need("owner", "write"),
    "model.restore": Need("owner", "admin"),
    "version.draft": Need("writer", "write"),
    "version.edit": Need("writer", "write"),
    "version.submit": Need("writer", "write"),
    "version.publish": Need("maintainer", "publish"),
    "version.yank": Need("maintainer", "publish"),
    "version.deprecate": Need("maintainer", "publish"),
    "version.derive": Need("maintainer", "write"),
    "version.withdraw": Need("owner", "publish"),
    "tag.create": Need("writer", "write"),
    "ref.move": Need("maintainer", "publish"),
    "job.cancel": Need("writer", "write"),
    "dataset.create": Need("writer", "write"),
    "dataset.edit": Need("writer", "write"),
    "dataset.withdraw": Need("maintainer", "publish"),
    "collection.edit": Need("writer", "write"),
    "collection.delete": Need("maintainer", "write"),
    "discussion.moderate": Need("writer", "write"),
    "training.manage": Need("maintainer", "write"),
    "namespace.read": Need("reader", "read"),
    "namespace.edit": Need("owner", "admin"),
    "mirror.edit": Need("owner", "admin"),
    "webhook.edit": Need("owner", "admin"),
    "member.edit": Need("owner", "admin"),
}

# What a namespace may reserve to sessions and tokens of scope `admin`.
DELETIONS = ("model.delete", "model.move")


def role_in(actor: Actor, target: Namespace | RegisteredModel) -> str | None:
    """The role of ``actor`` in a namespace, or at a model of it; None for others."""
    if not actor.is_authenticated or is_beyond_limits(actor, target):
        return None
    if actor.is_admin:
        return Membership.Role.OWNER.value
    roles = _roles.rows(_namespace_key(target), actor.pk)
    return roles[0][0] if roles else None


@Prepared
def _roles(namespace: int, user: int) -> QuerySet[Membership, Any]:
    return Membership.objects.filter(namespace=namespace, user=user).values_list("role")


def is_beyond_limits(actor: User, target: Namespace | RegisteredModel) -> bool:
    """Whether the token of this request is limited to other namespaces and models."""
    if actor.reach is None:
        return False
    model = target.pk if isinstance(target, RegisteredModel) else None
    return not actor.reach.covers(namespace=_namespace_key(target), model=model)


def _namespace_key(target: Namespace | RegisteredModel) -> int:
    return target.namespace_id if isinstance(target, RegisteredModel) else target.pk


def can(actor: Actor, action: str, target: Namespace | RegisteredModel) -> bool:
    """Whether ``actor`` may do ``action`` on ``target``."""
    namespace = target.namespace if isinstance(target, RegisteredModel) else target
    need = _need(action, namespace)
    role = role_in(actor, target)
    return (
        role is not None
        and ROLES.index(role) >= ROLES.index(need.role)
        and has_scope(actor, need.scope)
    )


def _need(action: str, namespace: Namespace) -> Need:
    need = ACTIONS[action]
    if action in DELETIONS and not namespace.allows_token_deletion:
        return need._replace(scope="admin")
    return need


def has_scope(actor: Actor, scope: str) -> bool:
    """Whether the token of this request reaches ``scope``; a session reaches every scope."""
    if not actor.is_authenticated:
        return False
    if actor.access_token is None:
        return True
    levels = [SCOPES.index(name) for name in actor.access_token.scopes if name in SCOPES]
    return bool(levels) and max(levels) >= SCOPES.index(scope)


def require(actor: Actor, action: str, target: Namespace | RegisteredModel) -> User:
    """The actor, who may do ``action``: raises NotAuthenticated for guests, else NotAllowed."""
    user = require_user(actor, of=target)
    if can(user, action, target):
        return user
    namespace = target.namespace if isinstance(target, RegisteredModel) else target
    need = _need(action, namespace)
    raise problems.NotAllowed(
        f"This requires the role {need.role} in {namespace.slug} and, with a token, the scope "
        f"{need.scope}. Ask an owner of {namespace.slug}, or use another token."
    )


def require_user(
    actor: Actor,
    scope: str = "read",
    *,
    of: Namespace | RegisteredModel | None = None,
    any_namespace: bool = False,
) -> User:
    """The signed-in user; raises NotAuthenticated for a guest, NotAllowed for a narrow token.

    A limited token passes only where it reaches ``of``, or where the caller keeps to what the token
    reaches by itself (``any_namespace``).
    """
    if not actor.is_authenticated:
        raise problems.NotAuthenticated("Sign in, or send a token as `Authorization: Bearer hf_…`.")
    if not has_scope(actor, scope):
        raise problems.NotAllowed(f"This token lacks the scope {scope}. Create one that has it.")
    if actor.reach is None or any_namespace:
        return actor
    if of is None or is_beyond_limits(actor, of):
        raise problems.NotAllowed(
            "This token is limited to other namespaces or models. Use one that reaches this, or "
            "one without limits."
        )
    return actor


def require_admin(actor: Actor) -> User:
    """The administrator of the whole hub who asks; raises NotAuthenticated, NotAllowed."""
    user = require_user(actor, "admin")
    if not user.is_admin:
        raise problems.NotAllowed(
            "Only an administrator of the hub may do this; with a token, one of scope admin for "
            "all namespaces."
        )
    return user
