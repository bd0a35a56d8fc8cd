from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class CommunityConfig(AppConfig):
    name = "registry.community"

    def ready(self) -> None:
        routes.register(
            self.name,
            Route("registry.community.api.urls", prefix="api/v1/"),
            Route("registry.community.huggingface_urls"),
        )
