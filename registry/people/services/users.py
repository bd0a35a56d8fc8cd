"""Accounts: making them, each with a namespace of its own name, and closing them."""

from __future__ import annotations

import secrets

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from hub.protocol import problems, refs
from registry.core import account_uses, events, second_factors
from registry.core.account_uses import Dependent
from registry.core.permissions import ACTIONS, Actor, can, require_admin, require_user
from registry.models import User
from registry.models.users import LONG_PASSWORD
from registry.people import passwords, selectors
from registry.people.services import namespaces

# Names in the message that an account cannot be closed yet.
MOST_NAMES = 10


@transaction.atomic
def create(
    *,
    username: str,
    password: str | None = None,
    email: str = "",
    superuser: bool = False,
    is_temporary: bool = False,
) -> User:
    """Make a user and their namespace.

    A password that ``is_temporary`` must be changed at the first sign-in. Raises NameTaken,
    NameReserved, InvalidName, and InvalidRequest for a password that breaks a rule.
    """
    refs.check_name(username)
    make = User.objects.create_superuser if superuser else User.objects.create_user
    namespaces.check_free_word(username)
    try:
        with transaction.atomic():
            user = make(
                username=username,
                email=email,
                password=password,
                must_change_password=is_temporary,
            )
    except ValidationError as error:
        raise problems.InvalidRequest.at("/password", " ".join(error.messages)) from None
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
    password = generate_password()
    user = create(username=username, password=password, email=email, is_temporary=True)
    events.record("user.created", user, actor=actor)
    return user, password


def renew_password(actor: Actor, *, user: User) -> str:
    """Reset a user's password and return the new one, only once; raises NotAllowed.

    Their sessions end and their tokens are revoked. They change it at the next sign-in.
    """
    require_admin(actor)
    if user.service_of_id is not None:
        raise problems.StateConflict(
            f"{user.username} is a service account, which has no password. Create a token for it."
        )
    password = generate_password()
    # Hashed before the transaction: others must not wait for it.
    user.set_password(password)
    user.is_temporary = True
    with transaction.atomic():
        tokens = user.tokens.count()
        user.save(update_fields=["password"])
        events.record("user.password", user, actor=actor, tokens_revoked=tokens)
    return password


def change_password(actor: Actor, *, password: str, revoke_tokens: bool) -> None:
    """Change the actor's own password, which ends their other sessions.

    Tokens do not depend on the password: they stay unless ``revoke_tokens``. Raises NotAllowed, and
    InvalidRequest for a password that breaks a rule.
    """
    user = require_user(actor, "admin")
    passwords.expect(password, user)
    user.set_password(password)
    user.keeps_tokens = not revoke_tokens
    with transaction.atomic():
        tokens = user.tokens.count() if revoke_tokens else 0
        user.save(update_fields=["password"])
        events.record("user.password", user, actor=user, tokens_revoked=tokens)


def review_password(user: User, *, password: str) -> None:
    """Have the password with which a user signs in changed, if the rules refuse it by now."""
    is_short = len(password) < LONG_PASSWORD
    must_change = user.must_change_password or not passwords.is_good(password, user)
    if (is_short, must_change) != (user.has_short_password, user.must_change_password):
        user.has_short_password, user.must_change_password = is_short, must_change
        user.save(update_fields=["has_short_password", "must_change_password"])


def expect_long_password(user: User) -> None:
    """Have a short password changed after the last second factor of an account was removed."""
    if user.has_short_password and not second_factors.has_any(user):
        user.must_change_password = True
        user.save(update_fields=["must_change_password"])


@transaction.atomic
def set_active(
    actor: Actor,
    *,
    user: User,
    active: bool,
    heir: str = "",
    ends_dependents: bool = False,
) -> User:
    """Open or close an account: a closed one signs in nowhere, and its tokens count no more.

    What it published stays. What acts for it is handed over to the user ``heir``, or ends with it
    if ``ends_dependents``. Raises NotAllowed, NotFound, and StateConflict for the last
    administrator, without either of the two, and where the heir may not do what is handed over.
    """
    require_admin(actor)
    return open_or_close(
        actor, user=user, active=active, heir=heir, ends_dependents=ends_dependents
    )


@transaction.atomic
def open_or_close(
    actor: Actor, *, user: User, active: bool, heir: str = "", ends_dependents: bool = False
) -> User:
    """Do what `set_active` does, without asking who."""
    others = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if not active and user.is_superuser and not others.exclude(pk=user.pk).exists():
        raise problems.StateConflict(
            f"{user.username} is the only administrator. Add another administrator before closing "
            "this account."
        )
    if not active:
        _settle_dependents(user, heir, ends_dependents=ends_dependents)
    user.is_active = active
    user.save(update_fields=["is_active"])
    if active:
        events.record("user.opened", user, actor=actor)
    else:
        events.record("user.closed", user, actor=actor, heir=heir)
    return user


def _settle_dependents(user: User, heir: str, *, ends_dependents: bool) -> None:
    dependents = account_uses.dependents(user)
    if heir:
        _hand_over(user, selectors.user(heir), dependents)
    elif dependents and not ends_dependents:
        names = ", ".join(f"{each.kind} {each.name}" for each in dependents[:MOST_NAMES])
        more = f" and {len(dependents) - MOST_NAMES} more" if len(dependents) > MOST_NAMES else ""
        raise problems.StateConflict(
            f"These act for {user.username}: {names}{more}. Name an heir who takes them over, or "
            "set ends_dependents to close the account all the same."
        )


def _hand_over(user: User, heir: User, dependents: list[Dependent]) -> None:
    if heir == user or not heir.is_active:
        raise problems.StateConflict(f"{heir.username} cannot take anything over. Name another.")
    for dependent in dependents:
        if dependent.hand_over is None:
            continue
        assert dependent.namespace is not None  # noqa: S101 - it is what is handed over
        role = ACTIONS[dependent.action].role
        if not can(heir, dependent.action, dependent.namespace):
            raise problems.StateConflict(
                f"{heir.username} may not take over {dependent.kind} {dependent.name}: "
                f"this requires the role {role} in {dependent.namespace.slug}."
            )
        dependent.hand_over(heir)


def generate_password() -> str:
    """A first password of 96 random bits, which passes the rules."""
    return secrets.token_urlsafe(12)
