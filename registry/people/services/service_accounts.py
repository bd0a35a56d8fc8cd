"""Service accounts of organisations: programs that act there for no user.

A service account has a role in its organisation, no password and no other membership. Its tokens
reach the organisation alone, or some of its models. Owners of the organisation manage it; the user
who made it may leave. An account that was closed keeps its name, which events still show.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import IntegrityError, transaction

from hub.protocol import problems, refs
from registry.core import events
from registry.core.permissions import ROLES, Actor, require
from registry.models import AccessToken, Membership, Namespace, RegisteredModel, User
from registry.people.services import tokens

# Between the organisation and the name in it; no name of a namespace or a person has it.
SEPARATOR = "+"
LONGEST_NAME = 40
MOST_ACCOUNTS = 100
SERVICE_ROLES = tuple(role for role in ROLES if role != Membership.Role.OWNER)


@transaction.atomic
def create(actor: Actor, *, namespace: Namespace, name: str, role: str = "writer") -> User:
    """Make the account `organisation+name`.

    Raises NotAllowed, InvalidName, NameTaken, InvalidRequest for a role that it cannot have, and
    StateConflict for the namespace of a user, or one that has many already.
    """
    require(actor, "member.edit", namespace)
    refs.check_name(name)
    if len(name) > LONGEST_NAME:
        raise problems.InvalidName(f"A service account's name has up to {LONGEST_NAME} characters.")
    _check_role(role)
    if namespace.kind != Namespace.Kind.ORG:
        raise problems.StateConflict(
            f"{namespace.slug} is the namespace of a user. Create an organisation for service "
            "accounts."
        )
    Namespace.objects.select_for_update().get(pk=namespace.pk)
    if namespace.service_accounts.filter(is_active=True).count() >= MOST_ACCOUNTS:
        raise problems.StateConflict(
            f"{namespace.slug} has {MOST_ACCOUNTS} service accounts. Close one that is not used."
        )
    account = User(username=f"{namespace.slug}{SEPARATOR}{name}", service_of=namespace)
    account.set_unusable_password()
    if User.objects.filter(username__iexact=account.username).exists():
        raise problems.NameTaken.at("/name", f"Service account {account.username} already exists.")
    try:
        with transaction.atomic():
            account.save()
    except IntegrityError as error:
        raise problems.NameTaken.at(
            "/name", f"Service account {account.username} already exists."
        ) from error
    Membership.objects.create(namespace=namespace, user=account, role=role)
    events.record("service-account.created", account, actor=actor, user=account.pk, role=role)
    return account


@transaction.atomic
def edit(actor: Actor, *, account: User, role: str) -> User:
    """Change the role of a service account; raises NotAllowed, InvalidRequest."""
    namespace = of(account)
    require(actor, "member.edit", namespace)
    _check_role(role)
    Membership.objects.update_or_create(namespace=namespace, user=account, defaults={"role": role})
    events.record("service-account.edited", account, actor=actor, user=account.pk, role=role)
    return account


@transaction.atomic
def close(actor: Actor, *, account: User) -> None:
    """Close a service account permanently: its tokens are revoked and its role ends."""
    require(actor, "member.edit", of(account))
    account.is_active = False
    account.save(update_fields=["is_active"])
    revoked, _ = account.tokens.all().delete()
    account.memberships.all().delete()
    events.record(
        "service-account.closed", account, actor=actor, user=account.pk, tokens_revoked=revoked
    )


@transaction.atomic
def create_token(
    actor: Actor,
    *,
    account: User,
    name: str,
    scopes: Sequence[str],
    models: Sequence[str] = (),
    expires_days: int = 90,
) -> tuple[AccessToken, str]:
    """Make a token for a service account; returns its row and the token, for the only time.

    It reaches the organisation, or only ``models`` of it. Raises NotAllowed, InvalidRequest, and
    NotFound for models elsewhere.
    """
    namespace = of(account)
    user = require(actor, "member.edit", namespace)
    tokens.check(actor, name=name, scopes=scopes, expires_days=expires_days)
    own = RegisteredModel.objects.filter(namespace=namespace, deleted_at=None)
    return tokens.issue(
        account,
        name=name,
        scopes=scopes,
        namespaces=() if models else (namespace,),
        models=[tokens.model_of(own, ref) for ref in models],
        expires=timedelta(days=expires_days),
        actor=user,
    )


@transaction.atomic
def revoke_token(actor: Actor, *, account: User, token_id: int) -> None:
    """Revoke a token of a service account; raises NotAllowed, NotFound."""
    user = require(actor, "member.edit", of(account))
    tokens.end(user, account, token_id)


def of(account: User) -> Namespace:
    """The organisation of a service account."""
    assert account.service_of is not None  # noqa: S101 - selectors give no other accounts
    return account.service_of


def _check_role(role: str) -> None:
    if role not in SERVICE_ROLES:
        raise problems.InvalidRequest.at(
            "/role", f"A service account can have the role {', '.join(SERVICE_ROLES)}."
        )
