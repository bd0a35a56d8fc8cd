"""The Celery application: `celery -A hub.server.celery worker -Q cpu`."""

from __future__ import annotations

import logging
from logging.config import dictConfig
from typing import Any

from billiard import current_process  # type: ignore[import-untyped]
from celery import Celery, signals
from celery.worker.control import Panel
from django.conf import settings

import hub.server  # noqa: F401 - puts the rooms on the path
from hub.server import start

start.read_settings()

from hub.server.schedule import SCHEDULE  # noqa: E402 - reads the settings

app = Celery("hub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
# Beat's folder may belong to another user: the root folder, where systemd starts it.
app.conf.beat_schedule_filename = str(settings.HUB_HOME / "celerybeat-schedule")
app.autodiscover_tasks()
# What `celery status`, `celery inspect` and Flower may ask. By the other commands, a client of the
# broker could stop workers or revoke tasks. The queue is the database, where pools are paused.
QUESTIONS = frozenset(
    {"active", "active_queues", "clock", "ping", "registered", "reserved", "scheduled", "stats"}
)
# Flower lists tasks by their events, which workers send once they are asked to.
EVENTS = frozenset({"disable_events", "enable_events"})
for _name in set(Panel.data) - QUESTIONS - EVENTS:
    del Panel.data[_name]
app.steps["consumer"].add("runners.queue.heartbeats:SignsOfLife")


@signals.import_modules.connect  # type: ignore[untyped-decorator]
def _check(**_: Any) -> None:
    """Refuse to start a worker or beat; a process of a pool that is spawned comes here, too."""
    if current_process().name == "MainProcess":
        start.set_up()
        start.check()
        start.warn()


@signals.setup_logging.connect  # type: ignore[untyped-decorator]
def _log(loglevel: int | str | None = None, **_: Any) -> None:
    """Write the lines of Celery, a worker's and beat's, as the hub's own; HUB_LOG_FORMAT decides.

    The option `--loglevel` is that of Celery's lines.
    """
    dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel or logging.WARNING)
