"""What packages for other tools add to `import hub` and to `hub get`."""

from __future__ import annotations

import typing
from importlib import import_module

from hub.protocol.capabilities import CAPABILITIES
from hub.protocol.ports import Entry, Port


class Module(typing.NamedTuple):
    """A module that is an attribute of `hub`; it needs the extra of its name."""

    name: str
    path: str


class Layout(typing.NamedTuple):
    """A layout of folders that `hub get` writes, and the module whose ``write`` does it.

    ``help`` says in the help of the command what is written.
    """

    name: str
    path: str
    help: str


modules = Port(Module)
layouts = Port(Layout)


def loaded(port: Port[Entry]) -> list[Entry]:
    """The entries of a port, once every package of the table has plugged in."""
    for capability in CAPABILITIES.values():
        for package in capability.client:
            import_module(package)
    return list(port)
