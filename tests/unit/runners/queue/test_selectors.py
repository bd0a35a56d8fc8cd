"""Jobs are as visible as their versions, in lists and in counts."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from runners.models import Job
from runners.queue import selectors
from tests import factories

pytestmark = pytest.mark.django_db


def test_jobs_of_what_is_hidden_are_hidden_and_not_counted(ada, bob):
    factories.submitted(ada, factories.model(ada, "secret", visibility="private"))
    job = Job.objects.get()
    assert selectors.queue_lengths(ada) == {"queued": 1}
    for stranger in (bob, AnonymousUser()):
        assert selectors.queue_lengths(stranger) == {}
        assert not selectors.jobs(stranger).exists()
        with pytest.raises(problems.NotFound):
            selectors.job(stranger, job.pk)


def test_jobs_of_a_public_version_show_once_it_is_published(ada, bob):
    factories.submitted(ada)
    assert not selectors.jobs(bob).exists()
    factories.work()
    assert selectors.jobs(bob).count() == 3  # describe, check, and its graph
