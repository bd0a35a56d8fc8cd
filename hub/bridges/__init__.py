"""The client under the interfaces of other tools, each behind an optional extra."""

from hub.client.extensions import Layout, Module, layouts, modules

modules.register(
    __name__,
    *(Module(name, f"{__name__}.{name}") for name in ("mlflow", "ray", "spark")),
)
layouts.register(
    __name__,
    Layout("triton", f"{__name__}.triton", "a model repository of Triton, with a config.pbtxt"),
)
