from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class OnnxHubConfig(AppConfig):
    name = "registry.protocols.onnx_hub"

    def ready(self) -> None:
        from registry.protocols.onnx_hub import archives  # noqa: PLC0415 - models come first

        routes.register(self.name, Route("registry.protocols.onnx_hub.urls"))
        archives.connect()
