"""The Celery task that sends deliveries; Celery finds it with the app."""

from __future__ import annotations

from celery import current_app, shared_task

from runners.webhooks import turns

SECONDS = 5.0


@shared_task(name="runners.webhooks", ignore_result=True)  # type: ignore[untyped-decorator]
def send() -> None:
    """Send what is due."""
    turns.start().join()


current_app.conf.beat_schedule["webhooks"] = {
    "task": send.name,
    "schedule": SECONDS,
    "options": {"queue": "light", "expires": SECONDS},
}
