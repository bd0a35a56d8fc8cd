"""What an account must do before a session of it may do anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hub.protocol.ports import Port
from registry.models import User


@dataclass(frozen=True, slots=True)
class RequiredAction:
    """What sessions of an account must do first: when it is due, the pages of it, and its words.

    ``page`` is the name of the page that it begins on; ``pages`` are further ones that it needs.
    """

    is_due: Callable[[User], bool]
    page: str
    words: str
    pages: frozenset[str] = field(default=frozenset())


required_actions = Port(RequiredAction)


def next_of(user: User) -> RequiredAction | None:
    """What is due first; None if nothing is."""
    return next((action for action in required_actions if action.is_due(user)), None)
