"""Accounts: making them, each with a namespace of its own name, and closing them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from hub.protocol import problems, refs
from registry.core import events
from registry.core.permissions import require_admin, require_user
from registry.models import User
from registry.people.services import namespaces

if TYPE_CHECKING:
    from registry.core.permissions import Actor


@transaction.atomic
def create(
    *, username: str, password: str | None = None, email: str = "", superuser: bool = False
) -> User:
    """Make a user and their namespace; raises NameTaken, NameReserved, InvalidName."""
    refs.check_name(username)
    make = User.objects.create_superuser if superuser else User.objects.create_user
    namespaces.check_free_word(username)
    try:
        with transaction.atomic():
            user = make(username=username, email=email, password=password)
    except IntegrityError as error:
        raise problems.NameTaken(f"User {username} already exists.") from error
    namespaces.open_personal(user)
    return user


@transaction.atomic
def invite(actor: Actor, *, username: str, email: str = "") -> tuple[User, str]:
    """Create an account; returns it with its first password, which is never shown again.

    Raises NotAllowed, NameTaken, NameReserved, InvalidName.
    """
    require_admin(actor)
    password = _password()
    user = create(username=username, password=password, email=email)
    events.record("user.created", user, actor=actor)
    return user, password


def renew_password(actor: Actor, *, user: User) -> str:
    """Reset a user's password and return the new one, only once; raises NotAllowed.

    Their sessions end and their tokens are revoked.
    """
    require_admin(actor)
    password = _password()
    # Hashed before the transaction: others must not wait for it.
    user.set_password(password)
    with transaction.atomic():
        tokens = user.tokens.count()
        user.save(update_fields=["password"])
        events.record("user.password", user, actor=actor, tokens_revoked=tokens)
    return password


def change_password(actor: Actor, *, password: str, revoke_tokens: bool) -> None:
    """Change the actor's own password, which ends their other sessions; raises NotAllowed.

    Tokens do not depend on the password: they stay unless ``revoke_tokens``.
    """
    user = require_user(actor, "admin")
    user.set_password(password)
    user.keeps_tokens = not revoke_tokens
    with transaction.atomic():
        tokens = user.tokens.count() if revoke_tokens else 0
        user.save(update_fields=["password"])
        events.record("user.password", user, actor=user, tokens_revoked=tokens)


@transaction.atomic
def set_active(actor: Actor, *, user: User, active: bool) -> User:
    """Open or close an account: a closed one signs in nowhere, and its tokens count no more.

    What it published stays. Raises NotAllowed, StateConflict for the last administrator.
    """
    require_admin(actor)
    others = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if not active and user.is_superuser and not others.exclude(pk=user.pk).exists():
        raise problems.StateConflict(
            f"{user.username} is the only administrator. Add another administrator before closing "
            "this account."
        )
    user.is_active = active
    user.save(update_fields=["is_active"])
    events.record("user.opened" if active else "user.closed", user, actor=actor)
    return user


def _password() -> str:
    return secrets.token_urlsafe(12)
