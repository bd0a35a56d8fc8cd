"""What a runtime's module raises in place of its library's own classes."""

from __future__ import annotations


class MissingRuntimeError(LookupError):
    """The runtime is unknown, or not installed in this environment."""


class LoadError(Exception):
    """The runtime does not load the model; the message is the library's."""


class UnsupportedModelError(LoadError):
    """The runtime says that it does not support the model: an operator, a version, a type."""


class UnpreparedError(LoadError):
    """This machine lacks something that the runtime needs; nobody else is at fault."""
