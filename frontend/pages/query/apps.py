from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class QueryPagesConfig(AppConfig):
    name = "frontend.pages.query"
    label = "query_pages"

    def ready(self) -> None:
        from frontend.pages.query import registrations  # noqa: PLC0415 - models must be loaded first

        routes.register(self.name, Route("frontend.pages.query.urls", closed=("/query",)))
        registrations.register(self.name)
