from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class BenchmarkPagesConfig(AppConfig):
    name = "frontend.pages.benchmarks"
    label = "benchmark_pages"

    def ready(self) -> None:
        from frontend.presenters.version_head import Tab, tabs  # noqa: PLC0415 - models come first

        routes.register(self.name, Route("frontend.pages.benchmarks.urls"))
        tabs.register(
            self.name, Tab("benchmarks", "Benchmarks", "version-benchmarks", "Speed", order=30)
        )
