"""Asking for an evaluation with a form."""

from __future__ import annotations

import pytest

from runners.models import Job
from tests import factories
from tests.unit.frontend.conftest import Reader

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs")]
ADDRESS = "/models/ada/net/v/1/evaluate"
SPLIT = {
    "name": "held out/2026",
    "task": "classification",
    "reader": "csv",
    "files": ["test.csv"],
    "inputs": [{"name": "x", "columns": ["weight"]}],
    "target": {"column": "kind"},
}


def test_an_evaluation_is_requested_with_a_form(ada, reader):
    factories.version(ada)
    assert "No data set has a version with splits" in reader.page(ADDRESS)
    factories.dataset_version(ada, splits=[SPLIT])
    assert f'href="{ADDRESS}"' in reader.page("/models/ada/net")
    assert "stones, held out/2026: classification" in reader.page(ADDRESS)
    refused = reader.post(ADDRESS, {"split": "stones/none", "variant": "default"})
    assert refused.status_code == 422
    sent = {"split": "stones/held out/2026", "variant": "default"}
    answer = reader.post(ADDRESS, sent)
    job = Job.objects.get(kind="evaluation")
    assert answer["Location"] == f"/jobs/{job.pk}"
    assert job.input["split"]["name"] == "held out/2026"
    assert job.requester == ada


def test_others_are_refused(ada, guest):
    factories.version(ada)
    assert guest.get(ADDRESS).status_code == 302
    assert ADDRESS not in guest.page("/models/ada/net")
    other = Reader()
    other.force_login(factories.somebody("bob"))
    assert other.get(ADDRESS).status_code == 403
