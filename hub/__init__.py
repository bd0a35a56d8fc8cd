"""Load, download and publish ONNX models of a hub.

Only the standard library is imported here; urllib3 and onnx come at the first call that needs them.
The client itself comes with the first use of a verb: each process of the sandbox imports names of
`hub.protocol`, and never calls one. The REST operations are in groups, such as `hub.jobs` and
`hub.tokens`: those of the default hub here, typed as attributes of a `Hub`.
"""

import importlib
import typing

from hub import errors
from hub.protocol.version import __version__

if typing.TYPE_CHECKING:
    from hub.client.api import (
        dataset,
        diff,
        download,
        download_dataset,
        find,
        info,
        list_datasets,
        list_models,
        load,
        login,
        logout,
        make_variant,
        push,
        push_dataset,
        query,
        session,
        training,
        whoami,
    )
    from hub.client.hub import Hub

__all__ = [
    "Hub",
    "__version__",
    "dataset",
    "diff",
    "download",
    "download_dataset",
    "errors",
    "find",
    "info",
    "list_datasets",
    "list_models",
    "load",
    "login",
    "logout",
    "make_variant",
    "push",
    "push_dataset",
    "query",
    "session",
    "training",
    "whoami",
]


# Modules for other tools, each with an extra of its name; imported at their first use.
_BRIDGES = frozenset({"mlflow", "ray", "spark"})


def __getattr__(name: str) -> typing.Any:
    if name in _BRIDGES:
        return _bridge(name)
    if name not in __all__:
        return _group(name)
    verb = getattr(importlib.import_module("hub.client.api"), name)
    globals()[name] = verb
    return verb


def _bridge(name: str) -> typing.Any:
    """A module of `hub.bridges`; raises LibraryMissing without the tool that it is for."""
    try:
        return importlib.import_module(f"hub.bridges.{name}")
    except ModuleNotFoundError as error:
        raise errors.LibraryMissing(
            f"hub.{name} needs {error.name}: pip install 'onnx-hub[{name}]'."
        ) from None


def _group(name: str) -> typing.Any:
    """A group of operations of the default hub, such as `hub.jobs`; looked up at each use."""
    if not name.startswith("_"):
        groups = importlib.import_module("hub.client.rest.groups")
        if name in groups.GROUPS:
            return getattr(importlib.import_module("hub.client.api").default_hub(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
