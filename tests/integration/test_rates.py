"""Rates that are counted in Redis, by several processes at once."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.conftest import ROOT, own_environment

EVENT = """
import django, sys, threading
django.setup()
from registry.core import rates
sys.stdin.readline()
limit, passed = rates.Limit("x", rates.Rate(10, 3600)), []
def event():
    try:
        passed.append(rates.reserve([limit]))
    except rates.RateExceededError:
        pass
threads = [threading.Thread(target=event) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(passed))
"""


def test_processes_share_one_count(redis, tmp_path):
    environment = own_environment() | {
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "HUB_HOME": str(tmp_path),
        "HUB_SECRET_KEY": "for-tests-only",
        "REDIS_URL": redis.url,
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", EVENT], cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    passed = [int(process.communicate(timeout=60)[0]) for process in processes]
    # A refused event counts until it is taken back: fewer may pass at once, but never more.
    assert 1 <= sum(passed) <= 10
