"""Directories of people: what knows passwords of people beside the hub, such as LDAP.

Without one, the password of an account is what the hub keeps a hash of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hub.protocol.ports import Port
from registry.models import User


class Entry(Protocol):
    """A person in a directory; ``key`` never changes, whatever becomes of the name."""

    @property
    def key(self) -> str:
        """The stable id in the directory."""

    @property
    def account(self) -> User | None:
        """The account that is connected with the entry."""

    def accepts(self, password: str) -> bool:
        """Whether it is the person's password; raises Unavailable."""

    def sign_in(self) -> User:
        """The account, made at the first sign-in, with the roles of the person's groups.

        Raises NotAllowed where the directory makes no accounts, and StateConflict for an e-mail
        address of another account.
        """

    def connect(self, user: User) -> None:
        """Connect the entry with an account; raises StateConflict where either has another."""


@dataclass(frozen=True, slots=True)
class Directory:
    """What finds people by the name that they type, and by account; both raise Unavailable."""

    find: Callable[[str], Entry | None]
    entry_of: Callable[[User], Entry | None]
    # Whether accounts are connected with it; asks the database alone.
    knows: Callable[[User], bool]


directories = Port(Directory)


def find(name: str) -> Entry | None:
    """The person of a name; raises Unavailable."""
    return next((entry for each in directories if (entry := each.find(name))), None)


def entry_of(user: User) -> Entry | None:
    """The person of an account; raises Unavailable."""
    return next((entry for each in directories if (entry := each.entry_of(user))), None)


def knows(user: User) -> bool:
    """Whether an account is connected with a directory."""
    return any(each.knows(user) for each in directories)
