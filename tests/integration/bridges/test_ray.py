"""Batch scoring on a local cluster of Ray: two actors, one download, results as elsewhere."""

from __future__ import annotations

from tests.integration.bridges.conftest import bridge, downloads

PROGRAM = """
import numpy, ray
import hub

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
rows = numpy.random.default_rng(7).standard_normal((500, 4)).astype("float32")
ids = numpy.arange(len(rows))
dataset = ray.data.from_numpy(rows).rename_columns({"data": "features"}).repartition(4)
scored = dataset.map_batches(
    hub.ray.Predictor, fn_constructor_args=("zoo/ray@1",),
    fn_constructor_kwargs={"columns": {"x": "features"}}, concurrency=2, num_cpus=0.5,
).take_all()
session = hub.session("zoo/ray@1", providers=["CPUExecutionProvider"])
name = session.get_outputs()[0].name
features = numpy.array([row["features"] for row in scored])
[expected] = session.run(None, {session.get_inputs()[0].name: features})
numpy.testing.assert_allclose([row[name] for row in scored], expected, rtol=1e-5)
digest = hub.info("zoo/ray")["version"]["manifest_sha256"].removeprefix("sha256:")
assert {(row["hub_ref"], row["hub_sha256"]) for row in scored} == {("zoo/ray@1:default", digest)}
print("rows", len(scored))
# By the memory that the hub counted, and no preset.
assert 32 < hub.ray.Predictor("zoo/ray@1").model.rows < 4096
try:
    hub.ray.Predictor("zoo/ray")
except hub.errors.InvalidReference as error:
    assert "it is zoo/ray@1 now" in str(error)
else:
    raise AssertionError("a reference that may move was accepted")
"""


def test_actors_score_with_one_download(publish, hub, run):
    publish("ray")
    assert "rows 500" in run(bridge("ray", "ray"), "-c", PROGRAM, RAY_DEDUP_LOGS="0")
    assert downloads(hub, "ray") == 1
