"""The Celery application: `celery -A hub.server.celery worker -Q cpu`."""

from __future__ import annotations

from typing import Any

from billiard import current_process  # type: ignore[import-untyped]
from celery import Celery, signals

import hub.server  # noqa: F401 - puts the rooms on the path
from hub.server import start

start.read_settings()

from hub.server.schedule import SCHEDULE  # noqa: E402 - reads the settings

app = Celery("hub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks()
app.steps["consumer"].add("runners.queue.heartbeats:SignsOfLife")


@signals.import_modules.connect  # type: ignore[untyped-decorator]
def _check(**_: Any) -> None:
    """Refuse to start a worker or beat; a process of a pool that is spawned comes here, too."""
    if current_process().name == "MainProcess":
        start.set_up()
        start.check()
        start.warn()
