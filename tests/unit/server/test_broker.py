"""Bells go to the broker that is configured, whichever process rings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("door", ["hub.server.wsgi", "hub.server.celery"])
def test_every_door_knows_the_broker(door, tmp_path):
    script = (
        f"import {door}\nimport django\ndjango.setup()\n"
        "from runners.tasks import run_job\nprint(run_job.app.conf.broker_url)"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "REDIS_URL": "redis://broker.invalid:6379/3",
        "HUB_HOME": str(tmp_path),
    }
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert told.stdout.strip() == "redis://broker.invalid:6379/3"
