from __future__ import annotations

from django.apps import AppConfig


class FederatedPagesConfig(AppConfig):
    name = "frontend.pages.federated"
    label = "federated_pages"

    def ready(self) -> None:
        from frontend.pages.federated import registrations  # noqa: PLC0415 - models must be loaded first

        registrations.register(self.name)
