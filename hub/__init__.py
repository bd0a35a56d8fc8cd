"""Load, download and publish ONNX models of a hub.

Only the standard library is imported here; urllib3 and onnx come at the first call that needs them.
The client itself comes with the first use of a verb: each process of the sandbox imports names of
`hub.protocol`, and never calls one. The REST operations are in groups, such as `hub.jobs` and
`hub.tokens`: those of the default hub here, typed as attributes of a `Hub`.
"""

import importlib
import importlib.util
import typing

from hub import errors
from hub.protocol.version import __version__

if typing.TYPE_CHECKING:
    import hub.aio as aio  # noqa: PLR0402  (from the package itself, errors alone comes at once)
    from hub.client.api import (
        dataset,
        diff,
        download,
        download_dataset,
        find,
        fleet_device,
        genai,
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
        sign,
        training,
        whoami,
    )
    from hub.client.hub import Hub

# Tells this package from that of another project of the same name; see onnx_hub.
__distribution__ = "onnx-hub"

__all__ = [
    "Hub",
    "__version__",
    "aio",
    "dataset",
    "diff",
    "download",
    "download_dataset",
    "errors",
    "find",
    "fleet_device",
    "genai",
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
    "sign",
    "training",
    "whoami",
]


def __getattr__(name: str) -> typing.Any:
    if name not in __all__:
        return _extension(name)
    if name == "aio":  # asyncio comes with it
        return importlib.import_module("hub.aio")
    verb = getattr(importlib.import_module("hub.client.api"), name)
    globals()[name] = verb
    return verb


def _extension(name: str) -> typing.Any:
    """A module for another tool, such as `hub.spark`, or a group of operations.

    Raises LibraryMissing without the tool, whose extra has the module's name.
    """
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}"):
        raise _unknown(name)  # a module that `from hub import` looks for next
    for extension in importlib.import_module("hub.client.extensions").load():
        if extension.name == name and not extension.layout:
            try:
                return importlib.import_module(extension.path)
            except ModuleNotFoundError as error:
                raise errors.LibraryMissing(
                    f"hub.{name} needs {error.name}: pip install 'onnx-hub[{name}]'."
                ) from None
    return _group(name)


def _group(name: str) -> typing.Any:
    """A group of operations of the default hub, such as `hub.jobs`; looked up at each use."""
    groups = importlib.import_module("hub.client.rest.groups")
    if name not in groups.GROUPS:
        raise _unknown(name)
    return getattr(importlib.import_module("hub.client.api").default_hub(), name)


def _unknown(name: str) -> AttributeError:
    return AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
