from __future__ import annotations

from django.apps import AppConfig


class RunnersConfig(AppConfig):
    name = "runners"
    label = "runners"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from runners import consumers, timed, verdicts  # noqa: PLC0415 - models must be loaded first

        consumers.connect()
        verdicts.connect()
        timed.connect()
