from __future__ import annotations

from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"
    label = "runners"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from runners import consumers  # noqa: PLC0415 - models must be loaded first
        from runners.benchmarks import speed_index  # noqa: PLC0415 - models must be loaded first
        from runners.evaluations import accuracy_index  # noqa: PLC0415 - as above
        from runners.proofs import verdicts  # noqa: PLC0415 - models must be loaded first

        consumers.connect()
        verdicts.connect()
        speed_index.connect()
        accuracy_index.connect()
