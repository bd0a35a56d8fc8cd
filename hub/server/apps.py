from __future__ import annotations

from django.apps import AppConfig


class ServerConfig(AppConfig):
    name = "hub.server"

    def ready(self) -> None:
        """Register the checks, which commands list before they import any address."""
        from hub.server import checks, requests  # noqa: F401, PLC0415 - they register themselves

        requests.watch_queries()
