from __future__ import annotations

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"
    label = "registry"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from registry.catalogue import documents  # noqa: PLC0415 - models must be loaded first
        from registry.datasets import selectors  # noqa: PLC0415
        from registry.protocols.onnx_hub import archives  # noqa: PLC0415
        from registry.storage import holders  # noqa: PLC0415

        documents.connect()
        archives.connect()
        holders.register("datasets", holders.Holder(selectors.holding, selectors.size))
