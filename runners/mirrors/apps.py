from __future__ import annotations

from django.apps import AppConfig


class MirrorWorkConfig(AppConfig):
    name = "runners.mirrors"
    label = "mirror_work"

    def ready(self) -> None:
        from registry.mirrors.services import mirrors  # noqa: PLC0415 - models come first
        from runners.background import BackgroundTask, background_tasks  # noqa: PLC0415
        from runners.mirrors import mirroring  # noqa: PLC0415

        background_tasks.register(
            self.name, BackgroundTask("mirrors", 1.0, mirrors.is_due, mirroring.start)
        )
