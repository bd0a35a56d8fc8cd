"""Aliases of machines and workers, shown to everyone except administrators.

An alias is a keyed digest of the name (HMAC with the secret of the hub): readers can tell which
jobs ran on the same machine, but learn no host name or process id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from registry.core.permissions import Actor

_SALT = "runners.aliases"


def host(name: str) -> str:
    """The alias of a machine."""
    return _alias("host", name)


def worker(name: str) -> str:
    """The alias of a worker, whose name contains its machine and process."""
    return _alias("worker", name)


def sees_names(actor: Actor) -> bool:
    """Whether the user sees names instead of aliases."""
    return actor.is_authenticated and actor.is_admin


def needs(requires: Mapping[str, Any]) -> dict[str, Any]:
    """The requirements of a job, with an alias in place of the machine's name."""
    return {name: host(str(of)) if name == "host" else of for name, of in requires.items()}


def _alias(kind: str, name: str) -> str:
    if not name:
        return ""
    return f"{kind}-{salted_hmac(_SALT, f'{kind}:{name}', algorithm='sha256').hexdigest()[:10]}"
