from __future__ import annotations

from django.apps import AppConfig

from registry.core.routes import Route, routes


class XetConfig(AppConfig):
    name = "registry.protocols.xet"

    def ready(self) -> None:
        from registry.core.periodic import HourlyTask, hourly_tasks  # noqa: PLC0415 - models first
        from registry.storage.holders import Holder, holders  # noqa: PLC0415
        from registry.storage.xet import chunks, collector  # noqa: PLC0415

        routes.register(self.name, Route("registry.protocols.xet.urls"))
        holders.register(self.name, Holder(release=collector.release, objects=chunks.objects))
        hourly_tasks.register(
            self.name,
            HourlyTask("unused-chunks", "Unused chunk stores deleted", collector.collect),
        )
