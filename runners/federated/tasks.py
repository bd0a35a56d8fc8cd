"""The Celery task that moves rounds on; Celery finds it with the app."""

from __future__ import annotations

from celery import current_app, shared_task
from django.conf import settings

from registry.core import maintenance_mode
from runners.federated import jobs


@shared_task(name="runners.rounds", ignore_result=True)  # type: ignore[untyped-decorator]
def rounds() -> None:
    """Do what is due for every live round."""
    if not maintenance_mode.current().is_read_only:
        jobs.keep_up()


current_app.conf.beat_schedule["rounds"] = {
    "task": rounds.name,
    "schedule": settings.HUB_LIMITS_LEASE_SECONDS / 3,
    "options": {"queue": "light", "expires": settings.HUB_LIMITS_LEASE_SECONDS},
}
