from __future__ import annotations

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        from registry.catalogue import documents  # noqa: PLC0415 - models must be loaded first
        from registry.core.account_uses import AccountUse, account_uses  # noqa: PLC0415
        from registry.datasets import selectors  # noqa: PLC0415
        from registry.people.services import tokens  # noqa: PLC0415
        from registry.storage.holders import Holder, holders  # noqa: PLC0415
        from registry.versions.dependents import VersionUse, names_of, version_uses  # noqa: PLC0415

        documents.connect()
        account_uses.register(self.name, AccountUse("tokens", tokens.of_account))
        version_uses.register(self.name, VersionUse("names", names_of))
        holders.register("registry.datasets", Holder(selectors.holding, selectors.size))
