"""Leases and turns with processes that race for them, on PostgreSQL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.faults.conftest import ROOT, own_environment, wait_for

HOLD = """
import django, sys, time
django.setup()
from registry.core import leases
leases.SECONDS = 3.0
while True:
    with leases.held("graph-store") as hold:
        while hold is not None and hold.is_valid():
            print(time.time(), flush=True)
            time.sleep(0.05)
    time.sleep(0.1)
"""
TURN = """
import django, time
django.setup()
from registry.core import leases
time.sleep(max(0, {at} - time.time()))
print(sum(leases.take_turn("tidy", 2.0) for _ in range(5)), flush=True)
"""


@pytest.fixture(scope="module")
def environment(database, tmp_path_factory):
    made = own_environment() | {
        "DATABASE_URL": database,
        "HUB_HOME": str(tmp_path_factory.mktemp("home")),
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
    }
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT, env=made, check=True,
    )  # fmt: skip
    return made


def start(environment, script, **streams):
    command = [sys.executable, "-W", "ignore", "-c", script]
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **streams)


def moments(path):
    return [float(line) for line in path.read_text().split("\n")[:-1]]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lease_passes_on_when_its_holder_dies_or_freezes(environment, tmp_path, how):
    paths = [tmp_path / "first", tmp_path / "second"]
    holders = []
    try:
        for path in paths:
            with path.open("w") as output:
                holders.append(start(environment, HOLD, stdout=output))
            if path == paths[0]:
                wait_for(lambda: moments(paths[0]), "the first to lead", 60)
        time.sleep(4)
        assert moments(paths[1]) == []
        os.kill(holders[0].pid, how)
        wait_for(lambda: moments(paths[1]), "the second to lead", 30)
        if how == signal.SIGSTOP:
            os.kill(holders[0].pid, signal.SIGCONT)
        time.sleep(2)
        first, second = map(moments, paths)
        # One write may have been on its way; the frozen one looks before the next.
        assert len([at for at in first if at > second[0]]) <= 1
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def test_one_of_many_has_the_turn(environment):
    at = time.time() + 15
    racers = [start(environment, TURN.format(at=at), stdout=subprocess.PIPE) for _ in range(4)]
    turns = [int(racer.communicate(timeout=90)[0]) for racer in racers]
    assert sum(turns) == 1
    later = start(environment, TURN.format(at=at + 4), stdout=subprocess.PIPE)
    assert int(later.communicate(timeout=60)[0]) == 1
