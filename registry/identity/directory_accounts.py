"""Accounts of people in the LDAP directory: an account belongs to the stable id of its entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from hub.protocol import problems
from registry.core import events
from registry.identity import accounts, groups
from registry.identity.models import DirectoryAccount
from registry.models import User

if TYPE_CHECKING:
    from registry.identity.ldap_directory import Person


@dataclass(frozen=True, slots=True)
class LdapEntry:
    """A person of the directory, as sign-in asks for one (``registry.core.directories.Entry``)."""

    person: Person
    account: User | None

    @property
    def key(self) -> str:
        return self.person.key

    def accepts(self, password: str) -> bool:
        return bool(_ldap().accepts(self.person, password))

    def sign_in(self) -> User:
        user = self.account or self._create()
        if user.is_active:
            groups.follow(user, self.person.groups, settings.HUB_LDAP_GROUPS)
        return user

    def connect(self, user: User) -> None:
        if self.account == user:
            return
        try:
            with transaction.atomic():
                DirectoryAccount.objects.create(user=user, key=self.key)
        except IntegrityError:
            raise problems.StateConflict(
                f"Your account or this entry of the {settings.HUB_LDAP_NAME} is connected already. "
                "Ask an administrator."
            ) from None

    def _create(self) -> User:
        if not settings.HUB_LDAP_ACCOUNTS:
            raise problems.NotAllowed("You have no account here. Ask an administrator for one.")
        email = _email(self.person.email)
        accounts.expect_free([email], title=f"the {settings.HUB_LDAP_NAME}")
        try:
            with transaction.atomic():
                user = accounts.create_named_like(
                    self.person.name or email.partition("@")[0], email=email
                )
                DirectoryAccount.objects.create(user=user, key=self.key)
                if email:
                    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
                events.record("user.created", user, actor=user)
        except IntegrityError:  # another request of the same person made it meanwhile
            return DirectoryAccount.objects.select_related("user").get(key=self.key).user
        return user


def find(name: str) -> LdapEntry | None:
    """The person of a name that is typed; raises Unavailable."""
    if settings.HUB_LDAP_SERVER is None:
        return None
    person = _ldap().find(name)
    if person is None:
        return None
    row = DirectoryAccount.objects.select_related("user").filter(key=person.key).first()
    return LdapEntry(person, row.user if row else None)


def entry_of(user: User) -> LdapEntry | None:
    """The person of an account; raises Unavailable."""
    row = DirectoryAccount.objects.filter(user=user).first()
    if settings.HUB_LDAP_SERVER is None or row is None:
        return None
    person = _ldap().of_key(row.key)
    return LdapEntry(person, user) if person else None


def knows(user: User) -> bool:
    """Whether the directory signs an account in."""
    return bool(settings.HUB_LDAP_SERVER) and DirectoryAccount.objects.filter(user=user).exists()


def _ldap() -> Any:
    """What speaks LDAP: its library is an extra, which only a hub with a directory has."""
    from registry.identity import ldap_directory  # noqa: PLC0415

    return ldap_directory


def _email(text: str) -> str:
    """An e-mail address of the directory; empty where it is none."""
    try:
        validate_email(text)
    except ValidationError:
        return ""
    return text
