from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class EvaluationsConfig(AppConfig):
    name = "runners.evaluations"

    def ready(self) -> None:
        from runners.evaluations import registrations  # noqa: PLC0415 - models must be loaded first

        routes.register(self.name, Route("runners.api.evaluations.urls", prefix="api/v1/"))
        registrations.register(self.name)
