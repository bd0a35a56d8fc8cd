"""`manage.py requeue`: what failed through the hub's fault is queued again, once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from runners.models import Job
from runners.queue import services
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed(ada):
    version = factories.version(ada)
    version.refresh_from_db()

    def make(kind, error, **job_input):
        job = services.enqueue(kind=kind, version=version, entry="model.onnx", job_input=job_input)
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.FAILED, error_class=error, finished_at=timezone.now()
        )
        return job

    return make


@pytest.fixture
def run(capsys):
    def call(*arguments):
        capsys.readouterr()
        call_command("requeue", *arguments)
        return capsys.readouterr().out.splitlines()

    return call


def test_only_what_the_hub_is_to_blame_for_is_queued_again(failed, run):
    Job.objects.all().delete()
    lost = failed("upgrade", "lost", opset=20)
    late = failed("conformance", "timeout")
    failed("upgrade", "deterministic", opset=21)
    failed("upgrade", "poison", opset=22)
    failed("check", "errored")
    assert run("--dry-run") == [f"{lost.pk} upgrade lost", f"{late.pk} conformance timeout"]
    assert Job.objects.filter(state="queued").count() == 0
    assert run("--kind", "upgrade")[-1] == "1 job queued again"
    again = Job.objects.get(state="queued")
    assert (again.kind, again.input, again.entry) == ("upgrade", lost.input, "model.onnx")
    assert run()[-1] == "2 jobs queued again"
    assert Job.objects.filter(state="queued").count() == 2


def test_old_failures_stay(failed, run):
    job = failed("upgrade", "lost")
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() - timedelta(hours=30))
    assert run()[-1] == "0 jobs queued again"
    assert run("--hours", "48")[-1] == "1 job queued again"
    with pytest.raises(CommandError, match="more than 0"):
        run("--hours", "0")
