"""Runs the engine for one person: the same sandbox and method, the person's own processors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.protocol import problems
from runners.engine.benchmark.options import Options, UnusableOptionError
from runners.engine.confine.isolation import Limits
from runners.sandbox import Request, Sandbox

if TYPE_CHECKING:
    from hub.cli.bench.subjects import Subject


Tell = Callable[[int, str], None]

_AGAINST = "against"
_AROUND_SECONDS = 60.0


class NotMeasuredError(problems.HubError):
    """The engine made no record; the message is its finding."""


def benchmark(subject: Subject, options: dict[str, Any], interpreter: str, tell: Tell) -> Any:
    """Measure one model; gives its record, samples included."""
    return _run("benchmark", subject, options, interpreter, tell, "record.json")


def compare(
    pair: tuple[Subject, Subject], options: dict[str, Any], interpreter: str, tell: Tell
) -> Any:
    """Measure two models in turns; gives the comparison, samples included."""
    baseline, candidate = pair
    beside = {f"{_AGAINST}/{path}": place for path, place in baseline.files.items()}
    both = type(candidate)(candidate.name, candidate.entry, {**candidate.files, **beside})
    settings = {**options, "against": f"{_AGAINST}/{baseline.entry}"}
    return _run("compare-speed", both, settings, interpreter, tell, "comparison.json")


def _run(
    task: str, subject: Subject, settings: dict[str, Any], interpreter: str, tell: Tell, output: str
) -> Any:
    try:
        options = Options.from_json(settings)
    except UnusableOptionError as error:
        raise NotMeasuredError(str(error)) from None
    if sys.platform != "linux":
        raise NotMeasuredError(
            "hub bench runs on Linux only, because its sandbox uses Linux kernel features."
        )
    limits = Limits(
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        output_bytes=64 << 20,
        job_seconds=options.job_seconds(2 if options.against else 1) + _AROUND_SECONDS,
    )
    # The digest of what is measured is taken by the engine; a request of a person has no other.
    request = Request(task, subject.entry, subject.files, "0" * 64, settings, limits)
    documents: list[Any] = []

    def keep(report: Any, folder: Path) -> Any:
        documents.extend(
            json.loads((folder / file.name).read_text(encoding="ascii"))
            for file in report.outputs
            if file.name == output
        )
        return report

    with Sandbox(interpreter=interpreter) as sandbox:
        report = sandbox.run(request, on_progress=tell, keep=keep)
    if not documents:
        words = "; ".join(finding.message for finding in report.findings) or report.outcome
        raise NotMeasuredError(words)
    return documents[0]
