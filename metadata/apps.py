from __future__ import annotations

from django.apps import AppConfig


class MetadataConfig(AppConfig):
    name = "metadata"

    def ready(self) -> None:
        from metadata import consumers, nightly  # noqa: PLC0415 - models must be loaded first
        from metadata.graphs import relatives  # noqa: PLC0415 - as above
        from registry.versions.dependents import VersionUse, version_uses  # noqa: PLC0415

        consumers.connect()
        nightly.register(self.name)
        version_uses.register(self.name, VersionUse("descendants", relatives.of_version))
