from __future__ import annotations

import pytest

from runners.sandbox import Limits, Request
from tests.engine.conftest import SUBJECT
from tests.engine.evaluation import tiny

LIMITS = Limits(
    wall_seconds=30,
    cpu_seconds=20,
    memory_bytes=2 << 30,
    output_bytes=1 << 20,
    file_bytes=256 << 20,
    job_seconds=30,
)


@pytest.fixture
def evaluate(sandbox, stored):
    """Evaluate a model on data, given as the map of a split's files to their bytes."""

    def go(model, data, split=None, *, limits=LIMITS, **options):
        if isinstance(data, bytes):
            data = {"test.csv": data}
        files = {f"{tiny.DATA}/{path}": content for path, content in data.items()}
        places = stored({"model.onnx": model} | files)
        given = {"split": split or tiny.split(), **options}
        return sandbox.run(Request("evaluation", "model.onnx", places, SUBJECT, given, limits))

    return go


@pytest.fixture
def refused(evaluate):
    """Evaluate what must be refused; gives code and message of the finding."""

    def go(*given, **options):
        report = evaluate(*given, **options)
        assert (report.outcome, report.measures) == ("failed", [])
        return report.findings[0].code, report.findings[0].message

    return go
