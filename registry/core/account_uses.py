"""What acts in the name of an account, and would end or lack an owner when that is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hub.protocol.ports import Port
from registry.models import Namespace, User


@dataclass(frozen=True, slots=True)
class Dependent:
    """A thing that acts for an account: its kind, its name, and where.

    ``hand_over`` lets it act for another account, which may do ``action`` in ``namespace``. What
    has none ends with its account.
    """

    kind: str
    name: str
    namespace: Namespace | None = None
    action: str = "namespace.read"
    hand_over: Callable[[User], None] | None = None

    @property
    def is_transferable(self) -> bool:
        """Whether another account can take it over."""
        return self.hand_over is not None


@dataclass(frozen=True, slots=True)
class AccountUse:
    """A kind of thing that acts for accounts: its name, and those of an account."""

    name: str
    of: Callable[[User], Iterable[Dependent]]


account_uses = Port(AccountUse)


def dependents(user: User) -> list[Dependent]:
    """Everything that acts for an account."""
    return [dependent for use in account_uses for dependent in use.of(user)]
