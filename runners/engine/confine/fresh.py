"""A child that is a program of its own: nothing of the fork server is in its memory.

Forked children inherit what the server has loaded: its pages, its allocator and its threads' fate.
A benchmark must not. This program reads its order, prepares what only an unconfined process can
open, confines itself as every other child is confined, and only then loads a library.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from runners.engine.confine import children
from runners.engine.confine.isolation import Confinement, Limits

# Modules with `prepare(arguments)`, called before the confinement, and `work(arguments, prepared)`.
_TASKS = {"measure": "runners.engine.benchmark.measuring", "probe": "runners.engine.confine.probe"}
_INHERITED = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LOCPATH")


def run(
    task: str,
    arguments: dict[str, Any],
    confinement: Confinement,
    stop: children.Stop,
    *,
    cores: Sequence[int] = (),
) -> children.Ending:
    """Run a task in a program of its own, pinned to these cores, and wait for its end."""
    worn = asdict(confinement) | {"layers": sorted(confinement.layers)}
    fields = {"task": task, "arguments": arguments, "cores": list(cores), "server": os.getpid()}
    order = json.dumps({**fields, "confinement": worn}, default=str)
    handle = os.memfd_create("order", os.MFD_CLOEXEC)
    try:
        os.write(handle, order.encode("ascii"))
        program = [sys.executable, "-s", "-P", "-m", "runners.engine.confine.fresh"]
        return children.run_program(program, _environment(), handle, confinement, stop)
    finally:
        os.close(handle)


def _environment() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
        "ORT_DISABLE_TELEMETRY": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **inherited,
    }


def main() -> NoReturn:
    """Do what the order says. Called by `python -m runners.engine.confine.fresh` only."""
    size = os.fstat(children.SOURCE).st_size
    order = json.loads(os.pread(children.SOURCE, size, 0))
    module = importlib.import_module(_TASKS[order["task"]])
    if order["cores"]:
        os.sched_setaffinity(0, order["cores"])
    arguments = order["arguments"]
    prepared = module.prepare(arguments)
    worn = order["confinement"]
    confinement = Confinement(
        layers=frozenset(worn["layers"]),
        limits=Limits(**worn["limits"]),
        folder=Path(worn["folder"]),
        **{
            name: tuple(map(Path, worn[name]))
            for name in ("readable", "writable", "devices", "libraries")
        },
    )
    children.answer_as_child(lambda: module.work(arguments, prepared), confinement, order["server"])


if __name__ == "__main__":
    main()
