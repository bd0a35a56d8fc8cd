"""The Celery task that moves rounds on; Celery finds it with the app."""

from __future__ import annotations

from celery import current_app, shared_task
from django.conf import settings

from runners.federated import jobs


@shared_task(name="runners.rounds", ignore_result=True)  # type: ignore[untyped-decorator]
def rounds() -> None:
    """Do what is due for every live round."""
    jobs.keep_up()


current_app.conf.beat_schedule["rounds"] = {
    "task": rounds.name,
    "schedule": settings.HUB_LIMITS_LEASE_SECONDS / 3,
    "options": {"queue": "light", "expires": settings.HUB_LIMITS_LEASE_SECONDS},
}
