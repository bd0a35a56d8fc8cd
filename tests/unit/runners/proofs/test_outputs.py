"""What a job wrote becomes blobs, and nothing else of the machine does, whatever a child says."""

from __future__ import annotations

import hashlib
import os

import pytest

from registry.models import Blob
from registry.storage.files import store
from runners.benchmarks import timing_jobs
from runners.engine.benchmark.options import Options
from runners.engine.reports import IsolationLevel, OutputFile, Report
from runners.models import Job
from runners.workers import execution

pytestmark = pytest.mark.django_db


def report(*names):
    return Report(
        task="upgrade",
        versions={},
        subject="0" * 64,
        outcome="passed",
        outputs=[OutputFile(name) for name in names],
    )


def test_outputs_are_stored_before_the_report_is(tmp_path):
    (tmp_path / "model.opset26.onnx").write_bytes(b"converted")
    kept = execution._store_outputs(report("model.opset26.onnx"), tmp_path)
    sha256 = hashlib.sha256(b"converted").hexdigest()
    assert kept.outputs == [OutputFile("model.opset26.onnx", sha256, 9)]
    assert store().read(sha256, 100) == b"converted"
    assert Blob.objects.get(pk=sha256).size == 9


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b", "", ".hidden", "-rf", "a\nb", "x" * 300, "ü"]
)
def test_an_output_is_a_plain_name(tmp_path, name):
    with pytest.raises(OSError, match="named an output"):
        execution._store_outputs(report(name), tmp_path)


def plant(kind, folder, secret):
    place = folder / "model.onnx"
    match kind:
        case "symbolic link":
            place.symlink_to(secret)
        case "hard link":
            os.link(secret, place)
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "pipe", "folder", "nothing"])
def test_an_output_is_a_plain_file_of_its_own(tmp_path, kind):
    secret = tmp_path / "secret"
    secret.write_bytes(b"not yours")
    out = tmp_path / "out"
    out.mkdir()
    plant(kind, out, secret)
    with pytest.raises(OSError):  # noqa: PT011 - the kernel's own words
        execution._store_outputs(report("model.onnx"), out)
    assert not Blob.objects.exists()


@pytest.mark.parametrize(
    ("demanded", "runs"), [("none", True), ("limits", True), ("partial", False), ("full", False)]
)
def test_a_worker_that_is_too_weak_runs_nothing(settings, demanded, runs):
    class Weak:
        asked = 0

        def level(self):
            return IsolationLevel(rlimits=True)

        def run(self, request, **_):
            self.asked += 1
            return report()

    settings.HUB_SANDBOX_REQUIRED = demanded
    sandbox = Weak()
    found = execution._run(Job(kind="suite"), sandbox, execution.Lease(Job()))
    assert sandbox.asked == runs
    assert [one.code for one in found.findings] == ([] if runs else ["sandbox-weak"])


class Recorder:
    """A sandbox that records what it is told to run."""

    def __init__(self):
        self.requests = []

    def level(self):
        return IsolationLevel(rlimits=True)

    def run(self, request, **_):
        self.requests.append(request)
        return report()


def test_a_timing_job_is_run_with_the_options_of_a_benchmark_alone(settings):
    settings.HUB_SANDBOX_REQUIRED = "none"
    told = {"effort": "light", "manifest_sha256": "0" * 64, "runtime_version": "1.30.0", "batch": 4}
    sandbox = Recorder()
    execution._run(Job(kind="benchmark", input=told), sandbox, execution.Lease(Job()))
    [request] = sandbox.requests
    assert Options.from_json(request.options).batch == 4
    assert request.limits.job_seconds == timing_jobs.job_seconds(request.options)


def test_a_fault_of_the_worker_ends_the_attempt_with_its_reason(settings):
    settings.HUB_SANDBOX_REQUIRED = "none"
    sandbox = Recorder()
    told = {"batch": "many"}
    ended = execution._run(Job(kind="benchmark", input=told), sandbox, execution.Lease(Job()))
    assert sandbox.requests == []
    assert (ended.outcome, [one.code for one in ended.findings]) == ("errored", ["worker-fault"])
    assert "UnusableOptionError" in ended.findings[0].message


def test_a_job_after_publishing_gets_more_than_the_gate(settings):
    gate, thorough = (execution._limits(Job(kind=kind), {}) for kind in ("check", "upgrade"))
    assert gate.job_seconds is None
    assert gate.file_bytes == 0
    assert thorough.job_seconds == settings.HUB_LIMITS_JOB_SECONDS
    assert thorough.file_bytes == settings.HUB_LIMITS_WRITTEN_BYTES
    assert thorough.cpu_seconds > gate.cpu_seconds
