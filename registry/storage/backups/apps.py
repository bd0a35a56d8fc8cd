from __future__ import annotations

from django.apps import AppConfig


class BackupsConfig(AppConfig):
    name = "registry.storage.backups"

    def ready(self) -> None:
        from registry.core.gauges import Gauges, gauges  # noqa: PLC0415 - models must be loaded
        from registry.storage.backups import hold, metrics  # noqa: PLC0415
        from registry.storage.holders import Holder, holders  # noqa: PLC0415

        holders.register(self.name, Holder(may_free=hold.may_free))
        gauges.register(self.name, Gauges("backups", metrics.read))
