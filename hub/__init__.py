"""Load, download and publish ONNX models of a hub.

Only the standard library is imported here; urllib3 and onnx come at the first call that needs them.
"""

from hub import errors
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
from hub.protocol.version import __version__

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
