"""The client under the interfaces of other tools, each behind an optional extra."""

from hub.client.extensions import Extension, register

register(
    __name__,
    *(Extension(name, f"{__name__}.{name}") for name in ("mlflow", "ray", "spark")),
    Extension("triton", f"{__name__}.triton", "a model repository of Triton, with a config.pbtxt"),
)
