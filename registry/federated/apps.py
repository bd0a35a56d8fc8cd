from __future__ import annotations

from django.apps import AppConfig


class FederatedConfig(AppConfig):
    name = "registry.federated"
    label = "federated"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from registry.core import outbox  # noqa: PLC0415 - models must be loaded first
        from registry.federated.services import retention, trainings  # noqa: PLC0415
        from registry.storage import holders  # noqa: PLC0415

        outbox.subscribe("federated.deleted", ("model.deleted",), trainings.on_deleted)
        holder = holders.Holder(retention.of_trainings, retention.bytes_of_contributions)
        holders.register("trainings", holder)
