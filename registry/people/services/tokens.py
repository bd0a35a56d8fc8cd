"""Making and revoking tokens. A token is shown once; its SHA-256 is all that is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.account_uses import Dependent
from registry.core.permissions import (
    ACTIONS,
    PROVISION,
    ROLES,
    SCOPES,
    Actor,
    has_scope,
    require_user,
    role_in,
)
from registry.models import (
    AccessToken,
    Membership,
    Namespace,
    RegisteredModel,
    TokenLimit,
    User,
)

PREFIX = "hf_"
LONGEST_DAYS = 366
MOST_LIMITS = 100


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
    namespaces: Sequence[str] = (),
    models: Sequence[str] = (),
    expires_days: int = 90,
) -> tuple[AccessToken, str]:
    """Make a token for ``actor`` and return its row and the token itself, for the only time.

    With ``namespaces`` or ``models`` (`lab/net`), it reaches these alone, and ``namespace``.
    Raises InvalidRequest, NotAllowed, and NotFound for what the actor is no member of, or may not
    know of.
    """
    user = require_user(actor, "admin")
    check(actor, name=name, scopes=scopes, expires_days=expires_days)
    names = [*namespaces, namespace] if namespace else namespaces
    return issue(
        user,
        name=name,
        scopes=scopes,
        namespaces=[_namespace(actor, slug) for slug in names],
        models=[model_of(RegisteredModel.objects.visible_to(actor), ref) for ref in models],
        expires=timedelta(days=expires_days),
    )


def check(actor: Actor, *, name: str, scopes: Sequence[str], expires_days: int) -> None:
    """Raise InvalidRequest, or NotAllowed for more rights than the request's own token has."""
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


def issue(
    user: User,
    *,
    name: str,
    scopes: Sequence[str],
    namespace: Namespace | None = None,
    namespaces: Sequence[Namespace] = (),
    models: Sequence[RegisteredModel] = (),
    expires: timedelta = timedelta(days=90),
    actor: User | None = None,
) -> tuple[AccessToken, str]:
    """Make a token without asking who; for `hub token create`, whose caller owns the machine.

    ``actor`` is who makes it for ``user``, if that is another.
    """
    secret = PREFIX + secrets.token_urlsafe(32)
    reached = {row.pk: row for row in ([*namespaces, namespace] if namespace else namespaces)}
    single = next(iter(reached.values())) if len(reached) == 1 and not models else None
    token = AccessToken.objects.create(
        user=user,
        name=name.strip()[:100],
        digest=digest(secret),
        prefix=secret[:8],
        scopes=[scope for scope in (*SCOPES, PROVISION) if scope in scopes],
        namespace=single,
        is_limited=single is None and bool(reached or models or PROVISION in scopes),
        expires_at=timezone.now() + expires,
    )
    if token.is_limited:
        limits = [TokenLimit(token=token, namespace=row) for row in reached.values()]
        limits += [TokenLimit(token=token, model_id=key) for key in {row.pk for row in models}]
        TokenLimit.objects.bulk_create(limits)
    events.record("token.created", token, actor=actor or user, name=token.name, scopes=token.scopes)
    return token, secret


@transaction.atomic
def revoke(actor: Actor, *, token_id: int) -> None:
    """Delete one of the actor's own tokens; raises NotFound."""
    user = require_user(actor, "admin")
    end(user, user, token_id)


def end(actor: User, owner: User, token_id: int) -> None:
    """Delete a token of ``owner`` without asking who; raises NotFound."""
    token = problems.expect(
        AccessToken.objects.filter(pk=token_id, user=owner).first(),
        problems.NotFound("Token not found. It may already have been revoked."),
    )
    events.record("token.revoked", token, actor=actor, name=token.name)
    token.delete()


def _namespace(actor: Actor, slug: str) -> Namespace:
    row = Namespace.objects.filter(slug__iexact=slug).first()
    if row is None or role_in(actor, row) is None:
        raise problems.NotFound(f"You are not a member of a namespace {slug}.")
    return row


def model_of(rows: QuerySet[RegisteredModel], ref: str) -> RegisteredModel:
    """The model of a name among these; raises NotFound."""
    namespace, _, name = ref.partition("/")
    return problems.expect(
        rows.filter(namespace__slug__iexact=namespace, name__iexact=name).first(),
        problems.NotFound(f"Model {ref} not found. Write its name as namespace/name."),
    )


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
