from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class SparqlConfig(AppConfig):
    name = "metadata.sparql"

    def ready(self) -> None:
        from metadata.sparql import registrations  # noqa: PLC0415 - models must be loaded first

        routes.register(self.name, Route("metadata.sparql.urls", closed=("/sparql",)))
        registrations.register(self.name)
