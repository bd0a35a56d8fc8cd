from __future__ import annotations

from django.apps import AppConfig


class MirrorPagesConfig(AppConfig):
    name = "frontend.pages.mirrors"
    label = "mirror_pages"

    def ready(self) -> None:
        from frontend.pages.mirrors import registrations  # noqa: PLC0415 - models must be loaded first

        registrations.register(self.name)
