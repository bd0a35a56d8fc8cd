from __future__ import annotations

from django.apps import AppConfig


class FederatedPagesConfig(AppConfig):
    name = "frontend.pages.federated"
    label = "federated_pages"

    def ready(self) -> None:
        from frontend.pages.federated import plugs  # noqa: PLC0415 - models must be loaded first

        plugs.register(self.name)
