"""Periodic work of the core: Celery beat reads it; the embedded worker does the same by itself.

The tasks of capabilities add themselves when Celery finds them.

Several schedulers do no harm: a task does nothing where another has had the turn.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep": {
        "task": "runners.sweep",
        "schedule": settings.HUB_LIMITS_LEASE_SECONDS / 3,
        # A missed run is made up for by the next.
        "options": {"queue": "light", "expires": settings.HUB_LIMITS_LEASE_SECONDS},
    },
    "downloads": {
        "task": "runners.refresh_downloads",
        "schedule": 300.0,
        "options": {"queue": "light", "expires": 300.0},
    },
    "predictions": {
        "task": "runners.predict_latencies",
        "schedule": 300.0,
        "options": {"queue": "light", "expires": 300.0},
    },
    "tidy": {"task": "runners.tidy", "schedule": 3600.0, "options": {"queue": "light"}},
    "scrub": {
        "task": "runners.scrub",
        "schedule": 3600.0,
        "options": {"queue": "light", "expires": 3600},
    },
}
