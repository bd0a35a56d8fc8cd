"""The client under the interfaces of other tools, each behind an optional extra."""

from hub.client.extensions import Extension, register

register(
    __name__,
    *(Extension(name, f"{__name__}.{name}") for name in ("mlflow", "ray", "spark")),
    Extension("genai", f"{__name__}.genai", "a folder that ONNX Runtime GenAI loads"),
    Extension("optimum", f"{__name__}.optimum", "a folder for Optimum and transformers.js"),
    Extension("ort-package", f"{__name__}.ort_package", "a model package of ONNX Runtime"),
    Extension("triton", f"{__name__}.triton", "a model repository of Triton, with a config.pbtxt"),
)
