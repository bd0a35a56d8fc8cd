"""`onnx.hub` for models of a hub of yours: the same functions, arguments, cache and errors.

onnx 1.21 removed `onnx.hub`. In place of `from onnx import hub` write
`from hub import onnx_compat`; the hub is that of HUB_URL and `hub login`. A program that has to
keep onnx 1.11 to 1.20.1 calls `install()` and goes on with `onnx.hub` itself.
"""

from hub.client.github import install
from hub.client.onnx_compat import (
    ModelInfo,
    download_model_with_test_data,
    get_dir,
    get_model_info,
    list_models,
    load,
    load_composite_model,
    set_dir,
)

__all__ = [
    "ModelInfo",
    "download_model_with_test_data",
    "get_dir",
    "get_model_info",
    "install",
    "list_models",
    "load",
    "load_composite_model",
    "set_dir",
]
