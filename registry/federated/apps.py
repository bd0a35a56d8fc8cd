from __future__ import annotations

from django.apps import AppConfig


class FederatedConfig(AppConfig):
    """The tables, and the files that their rows hold, whether or not trainings are offered."""

    name = "registry.federated"

    def ready(self) -> None:
        from registry.federated import holding  # noqa: PLC0415 - models must be loaded first
        from registry.storage.holders import Holder, holders  # noqa: PLC0415

        holders.register(self.name, Holder(holding.of_trainings, holding.bytes_of_contributions))
