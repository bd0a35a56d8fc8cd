from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class TryoutsConfig(AppConfig):
    name = "frontend.pages.tryouts"

    def ready(self) -> None:
        from frontend.pages.tryouts import registrations  # noqa: PLC0415 - models must be loaded first

        closed = ("/runtime/", "/models/*/v/*/try")
        routes.register(self.name, Route("frontend.pages.tryouts.urls", closed=closed))
        registrations.register(self.name)
