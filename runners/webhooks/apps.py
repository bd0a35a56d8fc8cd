from __future__ import annotations

from django.apps import AppConfig


class WebhookWorkConfig(AppConfig):
    name = "runners.webhooks"
    label = "webhook_work"

    def ready(self) -> None:
        from registry.webhooks import sending  # noqa: PLC0415 - models come first
        from runners.background import BackgroundTask, background_tasks  # noqa: PLC0415
        from runners.webhooks import turns  # noqa: PLC0415

        background_tasks.register(
            self.name, BackgroundTask("webhooks", 1.0, sending.is_due, turns.start)
        )
