from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class GitConfig(AppConfig):
    name = "registry.protocols.git"

    def ready(self) -> None:
        routes.register(self.name, Route("registry.protocols.git.urls"))
