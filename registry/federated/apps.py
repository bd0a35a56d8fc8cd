from __future__ import annotations

from django.apps import AppConfig


class FederatedConfig(AppConfig):
    name = "registry.federated"
    label = "federated"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from registry.core import outbox  # noqa: PLC0415 - models must be loaded first
        from registry.core.periodic import HourlyTask, hourly_tasks  # noqa: PLC0415
        from registry.federated.services import retention, trainings  # noqa: PLC0415
        from registry.storage.holders import Holder, holders  # noqa: PLC0415

        outbox.subscribe("federated.deleted", ("model.deleted",), trainings.on_deleted)
        holders.register(
            self.name,
            Holder(retention.of_trainings, retention.bytes_of_contributions),
        )
        hourly_tasks.register(
            self.name, HourlyTask("trainings", "Old training results deleted", retention.forget)
        )
