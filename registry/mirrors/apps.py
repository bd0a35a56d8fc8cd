from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class MirrorsConfig(AppConfig):
    name = "registry.mirrors"

    def ready(self) -> None:
        from registry.mirrors.services import pull_through  # noqa: PLC0415 - models come first
        from registry.versions.finders import Finder, finders  # noqa: PLC0415

        routes.register(self.name, Route("registry.api.mirrors.urls", prefix="api/v1/"))
        finders.register(self.name, Finder(pull_through.model))
