"""The Celery application: `celery -A hub.server.celery worker -Q cpu`."""

from __future__ import annotations

import os

from celery import Celery

import hub.server  # noqa: F401 - puts the rooms on the path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.server.settings")

from hub.server.schedule import SCHEDULE

app = Celery("hub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks()
app.steps["consumer"].add("runners.queue.heartbeats:SignsOfLife")
