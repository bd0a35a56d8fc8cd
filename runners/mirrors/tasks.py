"""The Celery task that synchronises mirrors; Celery finds it with the app."""

from __future__ import annotations

from celery import current_app, shared_task

from runners.mirrors import mirroring

SECONDS = 5.0


@shared_task(name="runners.mirror", ignore_result=True)  # type: ignore[untyped-decorator]
def mirror() -> None:
    """Synchronise the mirrors that are due."""
    mirroring.start().join()


current_app.conf.beat_schedule["mirrors"] = {
    "task": mirror.name,
    "schedule": SECONDS,
    "options": {"queue": "light", "expires": SECONDS},
}
