"""A sandbox that does the jobs of packages; the other jobs of a version end well unseen."""

from __future__ import annotations

import pytest

from runners.models import Job
from runners.packages import jobs
from runners.queue import services
from runners.sandbox import Sandbox
from runners.workers import execution
from tests import deliveries, factories


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    with Sandbox(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture
def work(sandbox, settings):
    """Do the waiting jobs of packages, or of another kind, as a worker would; gives how many."""
    settings.HUB_SANDBOX_REQUIRED = "none"

    def run(kind=jobs.KIND):
        deliveries.deliver()
        waiting = list(Job.objects.filter(kind=kind, state=Job.State.QUEUED))
        for job in waiting:
            claimed = services.claim("test", list(Job.Pool.values), uuid=job.pk)
            report = execution._run(claimed, sandbox, execution.Lease(claimed))
            assert report.outcome == "passed", report.findings
            services.finish(claimed, report)
        deliveries.deliver()
        return len(waiting)

    return run


@pytest.fixture
def publish(work):
    """Publish files as a model of somebody, whose package and decoder the engine judges."""

    def make(owner, files, card=factories.CARD, **described):
        model = factories.model(owner, **described)
        version = factories.submitted(owner, model, files, card=card)
        work()
        work(jobs.GENERATION)
        factories.work()
        version.refresh_from_db()
        assert version.state == version.State.PUBLISHED
        return version

    return make
