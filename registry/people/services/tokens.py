"""Making and revoking tokens. A token is shown once; its SHA-256 is all that is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.account_uses import Dependent
from registry.core.permissions import ACTIONS, ROLES, SCOPES, has_scope, require_user, role_in
from registry.models import AccessToken, Membership, Namespace, User

if TYPE_CHECKING:
    from registry.core.permissions import Actor

PREFIX = "hf_"
LONGEST_DAYS = 366


def digest(token: str) -> str:
    """What is stored of a token. 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def create(
    actor: Actor,
    *,
    name: str,
    scopes: Sequence[str],
    namespace: str | None = None,
    expires_days: int = 90,
) -> tuple[AccessToken, str]:
    """Make a token for ``actor`` and return its row and the token itself, for the only time."""
    user = require_user(actor, "admin")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise problems.InvalidRequest.at(
            "/scopes",
            f"Choose scopes from {', '.join(SCOPES)}; not {', '.join(unknown) or 'none'}.",
        )
    if not 1 <= expires_days <= LONGEST_DAYS:
        raise problems.InvalidRequest.at("/expires_days", f"Choose 1 to {LONGEST_DAYS} days.")
    if not name.strip():
        raise problems.InvalidRequest.at(
            "/name", "Give the token a name, so that you can recognise it later."
        )
    if not all(has_scope(actor, scope) for scope in scopes):
        raise problems.NotAllowed("A token cannot create a token with more rights than its own.")
    bound = _namespace(actor, namespace)
    return issue(user, name=name, scopes=scopes, namespace=bound, expires_days=expires_days)


def issue(
    user: User,
    *,
    name: str,
    scopes: Sequence[str],
    namespace: Namespace | None = None,
    expires_days: int = 90,
) -> tuple[AccessToken, str]:
    """Make a token without asking who; for `hub token create`, whose caller owns the machine."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(
        user=user,
        name=name.strip()[:100],
        digest=digest(secret),
        prefix=secret[:8],
        scopes=[scope for scope in SCOPES if scope in scopes],
        namespace=namespace,
        expires_at=timezone.now() + timedelta(days=expires_days),
    )
    events.record("token.created", token, actor=user, name=token.name, scopes=token.scopes)
    return token, secret


@transaction.atomic
def revoke(actor: Actor, *, token_id: int) -> None:
    """Delete one of the actor's own tokens; raises NotFound."""
    user = require_user(actor, "admin")
    token = AccessToken.objects.filter(pk=token_id, user=user).first()
    if token is None:
        raise problems.NotFound("Token not found. It may already have been revoked.")
    events.record("token.revoked", token, actor=user, name=token.name)
    token.delete()


def _namespace(actor: Actor, slug: str | None) -> Namespace | None:
    if not slug:
        return None
    row = Namespace.objects.filter(slug__iexact=slug).first()
    if row is None or role_in(actor, row) is None:
        raise problems.NotFound(f"You are not a member of a namespace {slug}.")
    return row


def of_account(user: User) -> Iterator[Dependent]:
    """The live tokens of an account; only those that are bound to a namespace can be handed over.

    Others reach whatever their owner reaches, which another account must not lend to them.
    """
    for token in user.tokens.filter(expires_at__gt=timezone.now()).select_related("namespace"):
        hand_over = partial(_hand_over, token) if token.namespace else None
        yield Dependent("token", str(token), token.namespace, hand_over=hand_over)


def _hand_over(token: AccessToken, heir: User) -> None:
    """Let a token act for another user, with no scope beyond the role of the former owner.

    Whoever knows the token must not gain rights by this.
    """
    assert token.namespace is not None  # noqa: S101 - others are not handed over
    role = Membership.objects.filter(user=token.user, namespace=token.namespace).values_list("role")
    held = role.first()
    if held is None:  # an administrator of the hub acts as an owner everywhere
        scopes = SCOPES if token.user.is_superuser else []
    else:
        scopes = [
            need.scope
            for need in ACTIONS.values()
            if ROLES.index(need.role) <= ROLES.index(held[0])
        ]
    token.scopes = [scope for scope in token.scopes if scope in scopes]
    token.user = heir
    token.save(update_fields=["user", "scopes"])
