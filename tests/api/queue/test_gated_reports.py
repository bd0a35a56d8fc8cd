"""What reports of jobs tell of a gated model to readers without access to its files."""

from __future__ import annotations

import pytest

from runners.models import Job
from tests import factories

pytestmark = pytest.mark.django_db
INITIALIZERS = {
    "count": 1,
    "largest": [{"name": "classifier.weight", "dtype": "float32", "shape": [8, 3], "bytes": 96}],
}


def test_names_and_shapes_of_tensors_are_public_and_files_are_not(ada, api):
    model = factories.model(ada, "net", gate="manual")
    version = factories.submitted(ada, model)
    factories.work(facts=factories.FACTS | {"initializers": INITIALIZERS})
    job = Job.objects.filter(version=version, kind="describe").get()
    report = api().get(f"jobs/{job.pk}").json()["report"]
    assert report["facts"]["initializers"]["largest"] == INITIALIZERS["largest"]
    assert api().get("models/ada/net/versions/1/files/model.onnx").status_code == 401
