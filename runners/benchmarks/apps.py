from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class BenchmarksConfig(AppConfig):
    name = "runners.benchmarks"

    def ready(self) -> None:
        from runners.benchmarks import registrations  # noqa: PLC0415 - models must be loaded first

        routes.register(self.name, Route("runners.api.benchmarks.urls", prefix="api/v1/"))
        registrations.register(self.name)
