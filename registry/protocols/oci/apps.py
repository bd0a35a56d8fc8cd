from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class OciConfig(AppConfig):
    name = "registry.protocols.oci"

    def ready(self) -> None:
        routes.register(self.name, Route("registry.protocols.oci.urls"))
