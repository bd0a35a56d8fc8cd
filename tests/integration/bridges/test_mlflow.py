"""MLflow itself: artifacts of a hub, and an ONNX model of a run that becomes a version."""

from __future__ import annotations

import re

from tests import samples
from tests.integration.bridges.conftest import bridge

PROGRAM = """
import sys
import mlflow, numpy, onnx
import hub

folder, samples = sys.argv[1:]
mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
with mlflow.start_run() as run:
    logged = mlflow.onnx.log_model(
        onnx.load(samples), name="net", save_as_external_data=False,
        input_example=numpy.zeros((1, 4), "float32"),
    )
version = hub.mlflow.register(logged.model_uri, "zoo/tracked")
print(version["ref"], version["state"], version["message"])
assert hub.mlflow.register(logged.model_uri, "zoo/tracked")["number"] == 1

loaded = mlflow.onnx.load_model("hub://zoo/tracked@1")
assert loaded == onnx.load(samples)
predicted = mlflow.pyfunc.load_model("hub://zoo/tracked@1").predict(numpy.zeros((2, 4), "float32"))
assert len(next(iter(predicted.values()))) == 2
local = mlflow.artifacts.download_artifacts("hub://zoo/net@1/deep/notes.txt", dst_path=folder)
assert open(local).read() == "notes\\n"
whole = mlflow.artifacts.download_artifacts("hub://zoo/net@champion", dst_path=f"{folder}/whole")
assert open(f"{whole}/weights.bin", "rb").read(3) == bytes(range(3))
card = mlflow.artifacts.download_artifacts("hub://zoo/tracked@1/README.md", dst_path=folder)
assert run.info.run_id in open(card).read()

from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
names = [file.path for file in get_artifact_repository("hub://zoo/net@1").list_artifacts()]
assert names == ["README.md", "deep", "model.onnx", "weights.bin"], names
repository = get_artifact_repository("hub://zoo/tracked")
try:
    repository.log_artifact(samples)
except hub.errors.InvalidRequest as error:
    assert "hub.mlflow.register" in str(error)
else:
    raise AssertionError("a single artifact was accepted")
"""


def test_a_logged_model_becomes_a_version_that_mlflow_loads(hub, run, tmp_path):
    python = bridge("mlflow", "mlflow", "onnxruntime", "pandas", "sqlalchemy", "alembic")
    (tmp_path / "samples.onnx").write_bytes(samples.mlp())
    printed = run(python, "-c", PROGRAM, tmp_path, tmp_path / "samples.onnx", token=hub.token)
    assert re.search(r"zoo/tracked@1 published MLflow models:/m-\w+", printed)
