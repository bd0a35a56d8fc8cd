"""The folder in which web processes count: removed once its gunicorn is gone, and never before."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

START = "import hub.server.web, os; print(os.environ['PROMETHEUS_MULTIPROC_DIR'], flush=True); "


def started(stack):
    environment = {k: v for k, v in os.environ.items() if k != "PROMETHEUS_MULTIPROC_DIR"}
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-c", f"{START}input()"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.kill)
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_server_left_is_removed():
    with ExitStack() as stack:
        first, killed = started(stack)
        first.kill()
        first.wait()
        assert killed.is_dir()
        _, living = started(stack)
        started(stack)
        assert not killed.exists()
        assert living.is_dir()
