"""The processes that `hub serve` forks: each comes back, and none outlives the hub."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests import samples
from tests.faults.conftest import Hub, processes, wait_for

ROLES = ("hub web", "hub graphs", "hub worker", "hub urgent")


def open_files(pid):
    """What the descriptors of a process lead to."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    return links


def is_restarted(hub, role, killed):
    return (pid := hub.child(role)) is not None and pid != killed


@pytest.mark.parametrize("role", ROLES)
def test_a_killed_role_is_started_again(hub, role):
    killed = wait_for(lambda: hub.child(role), role)
    others = {other: hub.child(other) for other in ROLES if other != role}
    hub.kill(role)
    wait_for(lambda: is_restarted(hub, role, killed), f"another {role}")
    assert {other: hub.child(other) for other in others} == others
    wait_for(hub.alive, "the web process to answer")
    path = hub.draft(role.replace(" ", "-"), samples.unlike_others(samples.mlp()))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published")


def test_the_process_that_forks_has_no_threads_and_no_connections(hub):
    supervisor = hub.process.pid
    assert len(list(Path(f"/proc/{supervisor}/task").iterdir())) == 1
    links = open_files(supervisor)
    assert not [link for link in links if "sqlite3" in link]
    assert len([link for link in links if link.startswith("socket:")]) == 1


def test_a_role_holds_neither_the_lock_nor_the_address_of_the_hub(hub):
    (listener,) = (each for each in open_files(hub.process.pid) if each.startswith("socket:"))
    lock = str(hub.home / "serve.lock")
    for role in ROLES:
        links = open_files(wait_for(lambda role=role: hub.child(role), role))
        assert lock not in links
        assert (listener in links) == (role == "hub web"), role


def test_every_role_is_gone_after_a_kill_of_the_supervisor_or_a_stop(tmp_path):
    hub = Hub(tmp_path / "home")
    counts = {
        folder
        for pid in hub.tree(hub.process.pid)
        for link in open_files(pid)
        if "hub-metrics" in (folder := os.path.dirname(link))  # noqa: PTH120
    }
    assert len(counts) == 1
    for how in (signal.SIGKILL, signal.SIGTERM):
        below = set(hub.tree(hub.process.pid))
        assert len(below) >= len(ROLES)
        hub.stop(how)
        wait_for(lambda below=below: not {pid for pid, _, _ in processes()} & below, "the end")
        if how == signal.SIGKILL:
            assert hub.process.returncode == -signal.SIGKILL
            hub.start()
    assert hub.process.returncode == 0
    assert not any("exited with status" in line for line in hub.lines)
    # The second start removed the folder that the killed one left, and its own at its end.
    assert not any(Path(folder).exists() for folder in counts)
