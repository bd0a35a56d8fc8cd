"""A way to time models in the real sandbox, as short as can be."""

from __future__ import annotations

import pytest

from runners.sandbox import Limits, Request
from tests.engine.benchmark import timings
from tests.engine.conftest import SUBJECT

LIMITS = Limits(memory_bytes=2 << 30, output_bytes=4 << 20, job_seconds=120)


@pytest.fixture
def measured(sandbox, stored):
    """Run a task of speed; gives the report and its outputs by name."""

    def go(task, files, limits=LIMITS, **given):
        files = {"model.onnx": files} if isinstance(files, bytes) else files
        made = {}

        def keep(report, folder):
            made.update({one.name: (folder / one.name).read_text() for one in report.outputs})
            return report

        entry = "model.onnx" if files else ""
        request = Request(task, entry, stored(files), SUBJECT, timings.TIMED | given, limits)
        return sandbox.run(request, keep=keep), made

    return go
