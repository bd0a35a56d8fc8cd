from __future__ import annotations

from django.apps import AppConfig


class FederatedConfig(AppConfig):
    name = "registry.federated"
    label = "federated"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from registry.core import outbox  # noqa: PLC0415 - models must be loaded first
        from registry.federated import held_blobs  # noqa: PLC0415
        from registry.federated.services import trainings  # noqa: PLC0415
        from registry.storage import holders  # noqa: PLC0415

        outbox.subscribe("federated.deleted", ("model.deleted",), trainings.on_deleted)
        holders.register(
            "trainings",
            holders.Holder(held_blobs.of_trainings, held_blobs.bytes_of_contributions),
        )
