from __future__ import annotations

from django.apps import AppConfig
from django.core import checks


class S3Config(AppConfig):
    name = "registry.storage.s3"

    def ready(self) -> None:
        from registry.storage import files  # noqa: PLC0415 - models must be loaded first
        from registry.storage.s3 import opening, part_sizes  # noqa: PLC0415

        files.backends.register(
            self.name, files.Backend("s3", "s3://bucket/prefix", opening.store_of)
        )
        checks.register(opening.check, files.CHECKS)
        checks.register(part_sizes.check, files.CHECKS)
