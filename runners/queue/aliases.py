"""Machines under aliases: who is no administrator learns no host name and no process id.

An alias is a keyed digest of the name, so it stays the same for as long as the hub has its secret:
readers can tell which jobs ran on the same machine, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from collections.abc import Mapping

    from registry.core.permissions import Actor

_SALT = "runners.aliases"


def host(name: str) -> str:
    """The alias of a machine."""
    return _alias("host", name)


def worker(name: str) -> str:
    """The alias of a worker, whose name holds its machine and process."""
    return _alias("worker", name)


def sees_names(actor: Actor) -> bool:
    """Whether somebody sees the names themselves."""
    return actor.is_authenticated and actor.is_admin


def needs(requires: Mapping[str, Any]) -> dict[str, Any]:
    """What a job requires, its machine under an alias."""
    return {name: host(str(of)) if name == "host" else of for name, of in requires.items()}


def _alias(kind: str, name: str) -> str:
    if not name:
        return ""
    return f"{kind}-{salted_hmac(_SALT, f'{kind}:{name}', algorithm='sha256').hexdigest()[:10]}"
