from __future__ import annotations

from django.apps import AppConfig


class CommunityPagesConfig(AppConfig):
    name = "frontend.pages.community"
    label = "community_pages"

    def ready(self) -> None:
        from frontend.pages.community import registrations  # noqa: PLC0415 - models must be loaded first

        registrations.register(self.name)
