"""Accounts that an identity provider makes, changes and closes.

Each function acts for the provider's own account, in one transaction. An account is closed and
never deleted: its sessions end and its tokens are revoked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Lower
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.identity import accounts, sessions
from registry.identity.models import ScimClient, ScimUser
from registry.identity.scim import clients, groups
from registry.models import User
from registry.people.services import tokens, users

LONGEST_NAME = 150


@dataclass(frozen=True, slots=True)
class Person:
    """What an identity provider says of a person; empty texts for what it leaves out."""

    user_name: str
    external_id: str = ""
    email: str = ""
    given_name: str = ""
    family_name: str = ""
    is_active: bool = True


def person_of(row: ScimUser) -> Person:
    """A person as the hub has it."""
    return Person(
        user_name=row.user_name,
        external_id=row.external_id,
        email=row.user.email,
        given_name=row.user.first_name,
        family_name=row.user.last_name,
        is_active=row.user.is_active,
    )


def account_of(emails: Collection[str]) -> User | None:
    """The account that SCIM made for one of these addresses; None if another account has one too.

    The caller knows that the addresses are confirmed. A closed account counts as any other.
    """
    lowered = [Lower(Value(email)) for email in emails]
    rows = _with_email(lower_email__in=lowered).select_related("scim_user")
    several = list(rows[:2])
    return several[0] if len(several) == 1 and hasattr(several[0], "scim_user") else None


@transaction.atomic
def create(client: ScimClient, person: Person) -> ScimUser:
    """Make an account without a password, or reopen the one of the same external id.

    Raises InvalidRequest, NameTaken for a user name, external id or address that is taken, and
    StateConflict where no name of an account is free.
    """
    _expect_valid(person)
    ScimClient.objects.select_for_update().get(pk=client.pk)
    former = _former(client, person)
    _expect_free_email(person.email, but=former.user if former else None)
    if former:
        former.deleted_at = None
        return _write(client, former, person)
    stem = person.user_name.partition("@")[0]
    user = accounts.create_named_like(stem, email=person.email)
    row = ScimUser(client=client, user=user)
    events.record("user.created", user, actor=client.account)
    return _write(client, row, person)


@transaction.atomic
def change(client: ScimClient, row: ScimUser, person: Person) -> ScimUser:
    """Make an account what its identity provider says now.

    Raises InvalidRequest, NameTaken, and StateConflict for the last administrator.
    """
    _expect_valid(person)
    ScimClient.objects.select_for_update().get(pk=client.pk)
    if person.email.lower() != row.user.email.lower():
        _expect_free_email(person.email, but=row.user)
    return _write(client, row, person)


@transaction.atomic
def delete(client: ScimClient, row: ScimUser) -> None:
    """Close an account and forget it for SCIM; raises StateConflict for the last administrator."""
    groups.leave_all(client, row)
    if row.user.is_active:
        _close(client, row.user)
    row.deleted_at = row.changed_at = timezone.now()
    row.save(update_fields=["deleted_at", "changed_at"])


def _write(client: ScimClient, row: ScimUser, person: Person) -> ScimUser:
    """Write what differs, with an event of the names of changed attributes."""
    user, is_new = row.user, row.pk is None
    columns = {
        "email": person.email,
        "first_name": person.given_name,
        "last_name": person.family_name,
    }
    changed = [name for name, text in columns.items() if getattr(user, name) != text]
    if changed:
        for name in changed:
            setattr(user, name, columns[name])
        user.save(update_fields=changed)
    if "email" in changed:  # an address that was confirmed before leads into the account no more
        confirmed = apps.get_model("account", "EmailAddress")
        confirmed._default_manager.filter(user=user).exclude(email__iexact=user.email).delete()  # noqa: SLF001
    if (row.user_name, row.external_id) != (person.user_name, person.external_id):
        row.user_name, row.external_id = person.user_name, person.external_id
        changed += ["user_name", "external_id"]
    clients.save(
        row, conflict="Another user of this identity provider has this userName or externalId."
    )
    if changed and not is_new:
        events.record("user.edited", user, actor=client.account, fields=sorted(changed))
    if person.is_active and not user.is_active:
        users.open_or_close(client.account, user=user, active=True)
    elif user.is_active and not person.is_active:
        _close(client, user)
    return row


def _close(client: ScimClient, user: User) -> None:
    users.open_or_close(client.account, user=user, active=False, ends_dependents=True)
    sessions.end_of(user, by=client.account)
    for key in list(user.tokens.values_list("pk", flat=True)):
        tokens.end(client.account, user, key)


def _former(client: ScimClient, person: Person) -> ScimUser | None:
    """The deleted user of the same external id; None without one."""
    if not person.external_id:
        return None
    rows = client.users.select_related("user").exclude(deleted_at=None)
    return rows.filter(external_id=person.external_id).first()


def _expect_valid(person: Person) -> None:
    texts = {
        "userName": person.user_name,
        "externalId": person.external_id,
        "emails": person.email,
        "name.givenName": person.given_name,
        "name.familyName": person.family_name,
    }
    clients.expect_texts(texts.items())
    if not person.user_name.strip():
        raise problems.InvalidRequest.at("/userName", "userName is empty.")
    for name in ("name.givenName", "name.familyName"):
        if len(texts[name]) > LONGEST_NAME:
            raise problems.InvalidRequest.at(
                f"/{name}", f"{name} has more than {LONGEST_NAME} characters."
            )
    if person.email:
        try:
            validate_email(person.email)
        except ValidationError:
            raise problems.InvalidRequest.at(
                "/emails", f"{person.email!r} is no e-mail address."
            ) from None


def _expect_free_email(email: str, *, but: User | None) -> None:
    """Raise NameTaken for the address of another account, unless SCIM deleted that."""
    others = _with_email(lower_email=Lower(Value(email)))
    if but is not None:
        others = others.exclude(pk=but.pk)
    if email and others.exists():
        raise problems.NameTaken(
            f"Another account of this hub has the address {email}. SCIM changes only accounts that "
            "it made: erase that account or change its address first."
        )


def _with_email(**condition: Any) -> QuerySet[User]:
    """Accounts by ``lower_email``, without those that SCIM deleted."""
    rows = User.objects.filter(scim_user__deleted_at=None).exclude(email="")
    return rows.alias(lower_email=Lower("email")).filter(**condition)
