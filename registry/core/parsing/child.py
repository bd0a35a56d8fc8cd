"""The process that reads one text at a time and may be killed at any moment.

It is a program of its own: it has no settings, no database and no secrets. `registry.core.parsing`
starts it and ends it.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Sequence

from hub.protocol import problems
from registry.core.child_processes import DONE, FAILED, READY, send

_NICE = 5


def main(arguments: Sequence[str]) -> None:
    """Answer the lines of standard input until it ends."""
    most_bytes = int(arguments[0])
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    # Whatever a library prints must not be taken for an answer.
    os.dup2(2, 1)
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    send(answers, READY, b"")
    for line in tasks:
        name, values, seconds = json.loads(line)
        module, _, function = name.partition(":")
        call = getattr(importlib.import_module(module), function)
        _limit_time(seconds)
        try:
            kind, answer = DONE, json.dumps(call(*values))
        except problems.Problem as problem:
            kind, answer = FAILED, json.dumps(problem.to_json())
        except MemoryError:
            raise SystemExit(1) from None
        except Exception as error:  # noqa: BLE001 - the parent logs it
            kind, answer = FAILED, json.dumps(f"{type(error).__name__}: {error}"[:1000])
        _limit_time(None)
        send(answers, kind, answer.encode("ascii"))


def _limit_time(seconds: float | None) -> None:
    """Have the kernel end this process when a text has taken its processor time, in seconds.

    None lifts the limit: what the next text needs before it is read is not its own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = hard if seconds is None else int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


if __name__ == "__main__":
    main(sys.argv[1:])
