"""One sandbox for all the engine's tests, and a place to lay out the files of a version."""

from __future__ import annotations

import onnx
import pytest

from runners.sandbox import Limits, Request, Sandbox

SUBJECT = "0" * 64
UPGRADE = Limits(wall_seconds=30, cpu_seconds=10, memory_bytes=2 << 30, output_bytes=1 << 20)
SMALL = Limits(wall_seconds=15, cpu_seconds=5, memory_bytes=1 << 30, output_bytes=1 << 20)


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    with Sandbox(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture
def stored(tmp_path):
    """Write a version's files as a blob store would: under names that say nothing."""

    def store(files):
        places = {}
        for place, (path, content) in enumerate(files.items()):
            blob = tmp_path / f"blob-{place}"
            blob.write_bytes(content)
            places[path] = str(blob)
        return places

    return store


@pytest.fixture
def run(sandbox, stored):
    """Run a task on some files, given as bytes of one model or as a map of paths to bytes."""

    def run_task(task, files, *, entry="model.onnx", limits=SMALL, **others):
        if isinstance(files, bytes):
            files = {entry: files}
        places = stored(files)
        return sandbox.run(Request(task, entry, places, SUBJECT, limits=limits), **others)

    return run_task


@pytest.fixture
def lift(sandbox, stored, tmp_path):
    """Upgrade a version's files; gives the report and the folder of what it made."""

    def go(files, target=None, entry="model.onnx", **options):
        if isinstance(files, onnx.ModelProto):
            files = {entry: files.SerializeToString()}
        options["target"] = target
        request = Request("upgrade", entry, stored(files), SUBJECT, options, UPGRADE)
        made = tmp_path / "made"
        made.mkdir()

        def keep(report, folder):
            for output in report.outputs:
                (made / output.name).write_bytes((folder / output.name).read_bytes())
            return report

        return sandbox.run(request, keep=keep), made

    return go


def codes(report):
    return [finding.code for finding in report.findings]


def words(report):
    """Give the verdicts alone, in the order of the stages."""
    return [report.facts["verdicts"][stage]["verdict"] for stage in STAGES]


STAGES = ("scan", "checker", "inference", "load")
