"""Task "package": the files of a version as one package, and what contradicts among them.

A child walks each graph, and one more reads the configs and tokenizers: both by the hub's own code.
The report passes whatever the findings are, since they refuse nothing.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from hub.protocol.packages import CONFIGS, MODEL_ENDING, VOCABULARIES
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job
from runners.engine.onnx_files import staging
from runners.engine.packages import graph_facts
from runners.engine.packages.folder import Folder, limit_of
from runners.engine.packages.graph_facts import Graph
from runners.engine.packages.layouts import package_of
from runners.engine.reports import Finding, Report

MOST_GRAPHS = 64
# Configs and vocabularies of all folders together.
MOST_READ_BYTES = 256 << 20


def run(job: Job) -> Report:
    """Recognise and check the package; the facts have it under ``package``."""
    request = job.request
    sizes = staging.sizes(request.files)
    models = sorted(path for path in sizes if path.lower().endswith(MODEL_ENDING))
    graphs = {}
    for number, path in enumerate(models[:MOST_GRAPHS]):
        job.tell(5 + 80 * number // len(models), "graphs")
        graphs[path] = _graph(job.on(path))
    words = f"the hub compares {MOST_GRAPHS} graphs of a version at most."
    graphs |= {path: graph_facts.unreadable(path, words) for path in models[MOST_GRAPHS:]}
    job.tell(85, "package")
    folder = job.lay_out(_read(sizes))
    failure = Finding("package-unread", "error", "The files could not be compared")
    facts = job.answer("package", lambda: _package(folder, sizes, graphs), failure, writes=False)
    return job.report("passed", facts=facts)


def _graph(job: Job) -> Graph:
    ending, _ = job.scan_with(graph_facts.read)
    if ending.kind != EndingKind.ANSWERED:
        return graph_facts.unreadable(job.request.entry, f"{job.cause(ending)}.")
    return Graph.from_json(ending.answer)


def _read(sizes: dict[str, int]) -> list[str]:
    """The files beside the graphs that the check opens, those with usual names first."""
    paths, room = [], MOST_READ_BYTES
    named = (*VOCABULARIES, *CONFIGS)
    order = [(posixpath.basename(path) not in named, path.count("/"), path) for path in sizes]
    for _, _, path in sorted(order):
        if sizes[path] <= min(limit_of(path), room):
            paths.append(path)
            room -= sizes[path]
    return paths


def _package(root: Path, sizes: dict[str, int], graphs: dict[str, Graph]) -> dict[str, Any]:
    return {"package": package_of(Folder(root, sizes, graphs)).to_json()}


FLOWS = {"package": run}
