"""Load, download and publish ONNX models of a hub.

Only the standard library is imported here; urllib3 and onnx come at the first call that needs them.
The client itself comes with the first use of a verb: each process of the sandbox imports names of
`hub.protocol`, and never calls one.
"""

import importlib
import typing

from hub import errors
from hub.protocol.version import __version__

if typing.TYPE_CHECKING:
    from hub.client.api import (
        dataset,
        download,
        download_dataset,
        find,
        info,
        list_datasets,
        list_models,
        load,
        login,
        make_variant,
        push,
        push_dataset,
        session,
        training,
    )

__all__ = [
    "__version__",
    "dataset",
    "download",
    "download_dataset",
    "errors",
    "find",
    "info",
    "list_datasets",
    "list_models",
    "load",
    "login",
    "make_variant",
    "push",
    "push_dataset",
    "session",
    "training",
]


def __getattr__(name: str) -> typing.Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    verb = getattr(importlib.import_module("hub.client.api"), name)
    globals()[name] = verb
    return verb


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
