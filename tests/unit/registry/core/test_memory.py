"""Freed memory goes back to the machine, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
from pathlib import Path
from registry.core import memory

def megabytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6

blocks = [bytearray(20_000) for _ in range(5_000)]
last = bytearray(20_000)  # above what is freed, so that the heap cannot shrink by itself
full = megabytes()
blocks.clear()
kept = megabytes()
memory.give_back()  # less than a minute after the start
early = megabytes()
memory.SECONDS = 0.0
memory.give_back()
print(full - kept, kept - early, early - megabytes())
"""


def test_freed_memory_goes_back_once_a_minute():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    by_itself, early, by_call = map(float, done.stdout.split())
    assert by_itself < 20
    assert early < 1
    assert by_call > 70
