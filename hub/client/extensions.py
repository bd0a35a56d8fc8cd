"""What packages for other tools add to `import hub` and to `hub get`."""

from __future__ import annotations

import typing
from importlib import import_module

from hub.protocol.capabilities import CAPABILITIES
from hub.protocol.ports import Port


class Extension(typing.NamedTuple):
    """A module for another tool: an attribute of `hub`, or a layout of folders for `hub get`.

    An attribute needs the extra of its name. A ``layout`` says in the help of the command what the
    module's `write` makes.
    """

    name: str
    path: str
    layout: str = ""


_extensions = Port(Extension)
register = _extensions.register


def load() -> list[Extension]:
    """Every extension, once the packages of the table have registered theirs."""
    for capability in CAPABILITIES.values():
        for package in capability.client:
            import_module(package)
    return list(_extensions)
