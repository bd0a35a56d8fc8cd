"""The page of one conformance result: what stands behind a cell of the matrix."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings

from frontend.parts import formatting
from frontend.presenters import conformance, parity_figures, version_head
from hub.protocol import stored
from registry.models import Version
from runners.models import ConformanceResult, Job
from runners.queue import aliases

# As runners.engine.runs.agreement has them, which pages cannot import; a test compares the two.
PROFILES = {
    "fp32": "relative 0.001, absolute 0.000 01",
    "fp16": "relative 0.01, absolute 0.001",
    "quantised": "cosine 0.99 or one quantisation step; else relative 0.001, absolute 0.000 01",
    "exact": "none: must be bit-identical",
}
SETS_SHOWN, FILES_SHOWN, FLAGS_SHOWN = 8, 8, 12


def of(
    version: Version, result: ConformanceResult, history: Iterable[ConformanceResult]
) -> dict[str, Any]:
    """A result's page; ``history`` is every result of the same check, newest first."""
    rows = list(history)
    state, word, means = conformance.outcome(result)
    lines = parity_figures.lines(result.figures)
    title, asks = conformance.CHECKS.get(result.check_kind, (result.check_kind, ""))
    newest = rows[0] if rows else result
    return {
        "check": title,
        "asks": asks,
        "state": state,
        "word": word,
        "means": means,
        "tolerance": PROFILES.get(result.profile, ""),
        "sets": tuple(_sets(version, result)),
        "environment": tuple(_environment(result.job)),
        "command": _command(version, result),
        "lines": tuple(lines[: parity_figures.LIMIT]),
        "more": max(0, len(lines) - parity_figures.LIMIT),
        "node": _node(node) if (node := stored.mapping(result.node)) else None,
        "file": result.evidence if version.state != "withdrawn" else None,
        "newest_url": ""
        if newest.pk == result.pk
        else version_head.place(version, "conformance", newest.pk),
        "history": tuple(
            (row, *conformance.outcome(row)[:2], conformance.figure(row)) for row in rows
        ),
    }


def _sets(version: Version, result: ConformanceResult) -> Iterator[dict[str, Any]]:
    """The data sets of a result by name; those that the version holds are links to their files."""
    names = dict.fromkeys(str(row.get("dataset") or "") for row in stored.rows(result.figures))
    home = result.variant.entry.path.rpartition("/")[0]
    files = version.files.all() if version.state != "withdrawn" else ()
    for name in list(filter(None, names))[:SETS_SHOWN]:
        folder = f"{home}/{name}/" if home else f"{name}/"
        paths = [file.path for file in files if file.path.startswith(folder)][:FILES_SHOWN]
        yield {
            "name": name,
            "files": tuple(
                (path.removeprefix(folder), version_head.place(version, "version-file", path))
                for path in paths
            ),
        }


def _environment(job: Job) -> Iterator[str]:
    """The process that ran: its worker, its threads and the features of its processor."""
    if worker := aliases.worker(job.worker):
        yield f"worker {worker}"
    facts = job.typed_report.facts
    if isinstance(threads := facts.get("threads"), int):
        yield formatting.plural(threads, "thread")
    if isinstance(flags := facts.get("processor_flags"), list) and flags:
        yield f"processor with {', '.join(str(flag)[:32] for flag in flags[:FLAGS_SHOWN])}"


def _command(version: Version, result: ConformanceResult) -> str:
    body = json.dumps({"variant": result.variant.name, "runtime": result.runtime})
    path = f"/api/v1/models/{version.model.ref}/versions/{version.number}/conformance"
    return (
        'curl -fsS -H "Authorization: Bearer $HUB_TOKEN" -H "Content-Type: application/json" '
        f"-d {shlex.quote(body)} {settings.HUB_PUBLIC_URL}{path}"
    )


def _node(node: dict[str, Any]) -> dict[str, Any]:
    rows = node.get("figures")
    return {
        "name": str(node.get("name") or ""),
        "operator": str(node.get("op") or ""),
        "index": stored.whole(node.get("index")),
        "inside": tuple(_step(step) for step in reversed(stored.rows(node.get("path")))),
        "lines": tuple(parity_figures.lines(rows if isinstance(rows, list) else [rows])),
    }


def _step(body: dict[str, Any]) -> str:
    """One body around a node: `iteration 2 (from 0) of the body of Loop, node 4`."""
    iteration = body.get("iteration")
    run = "" if iteration is None else f"iteration {iteration} (from 0) of "
    name = f" {body['name']}" if body.get("name") else ""
    return f"{run}the {body.get('body')} of {body.get('op')}{name}, node {body.get('index')}"
