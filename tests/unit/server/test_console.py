"""A line is one write: what several processes write to one pipe stays whole lines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_is_one_write(unbuffered):
    # Each read from a pipe in packet mode returns what one write gave (pipe(2), O_DIRECT).
    reading, writing = os.pipe2(os.O_DIRECT)
    subprocess.run(
        [sys.executable, "-c", "from hub.server.console import print_line; print_line('a line')"],
        stdout=writing, check=True, env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(writing)
    assert os.read(reading, 100) == b"a line\n"
    os.close(reading)
