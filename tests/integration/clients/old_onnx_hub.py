"""onnx 1.20.1 as it is, led to a hub: prints what came of each function of `onnx.hub`."""

import hashlib
import inspect
import json
from pathlib import Path

from hub import onnx_compat

onnx_compat.install()

import onnx.hub  # noqa: E402  (after the opener, as a program of its own would have it)
from onnx import numpy_helper  # noqa: E402


def arguments(function):
    return [
        (one.name, repr(one.default)) for one in inspect.signature(function).parameters.values()
    ]


FUNCTIONS = ("list_models", "get_model_info", "load", "download_model_with_test_data",
             "load_composite_model", "set_dir", "get_dir", "ModelInfo")  # fmt: skip
said = {"version": onnx.__version__}
said["same arguments"] = all(
    arguments(getattr(onnx.hub, name)) == arguments(getattr(onnx_compat, name))
    for name in FUNCTIONS
)
said["same folder"] = onnx.hub.get_dir() == onnx_compat.get_dir()
said["names"] = sorted({one.model for one in onnx.hub.list_models()})
said["by tag"] = sorted({one.model for one in onnx.hub.list_models(tags=["FOR-TAGS"])})
said["newest known"] = (
    max(one.opset for one in onnx.hub.list_models()) <= onnx.defs.onnx_opset_version()
)
said["opsets"] = sorted(
    one.opset
    for one in onnx.hub.list_models(model="NET")
    if ":" not in one.model and one.opset in (13, 17)
)
info = onnx.hub.get_model_info("net", opset=17)
ports = info.metadata["io_ports"]["inputs"]
said["ports"] = ports == [{"name": "x", "shape": ["N", 4], "type": "tensor(float)"}]
model = onnx.hub.load("net", opset=13)
onnx.checker.check_model(model)
said["loaded"] = model.opset_import[0].version
said["cached"] = Path(onnx.hub.get_dir(), info.model_path).parent.is_dir()
said["newest loads"] = onnx.hub.load("net") is not None
said["by alias"] = [one.model_path for one in onnx.hub.list_models("zoo/net:champion", "net")][:1]
said["loads by alias"] = onnx.hub.load("net", "zoo/net:champion", silent=True) is not None
folder = Path(onnx.hub.download_model_with_test_data("net", opset=17))
content = (folder / "model.onnx").read_bytes()
said["same model"] = hashlib.sha256(content).hexdigest() == info.model_sha
tensor = onnx.load_tensor(folder / "test_data_set_0" / "input_0.pb")
said["data"] = list(numpy_helper.to_array(tensor).shape)
said["archive has a digest"] = info.metadata["model_with_data_sha"] is not None
made = onnx.hub.load_composite_model("net", "scale", opset=None)
onnx.checker.check_model(made)
said["composite"] = [made.graph.input[0].name, len(made.graph.node)]
try:
    onnx.hub.list_models("nobody/models")
except AssertionError as error:
    said["missing"] = "Could not find manifest" in str(error)
said["private"] = any("hidden" in name for name in said["names"])
print(json.dumps(said))  # noqa: T201
