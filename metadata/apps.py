from __future__ import annotations

from django.apps import AppConfig


class MetadataConfig(AppConfig):
    name = "metadata"

    def ready(self) -> None:
        from metadata import consumers, nightly  # noqa: PLC0415 - models must be loaded first

        consumers.connect()
        nightly.register(self.name)
