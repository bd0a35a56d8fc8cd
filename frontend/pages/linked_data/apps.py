from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class LinkedDataConfig(AppConfig):
    name = "frontend.pages.linked_data"

    def ready(self) -> None:
        from frontend.presenters.version_head import Tab, tabs  # noqa: PLC0415 - models come first

        routes.register(self.name, Route("frontend.pages.linked_data.urls"))
        tabs.register(
            self.name,
            Tab("provenance", "Provenance", "version-provenance", "Provenance", order=50),
        )
