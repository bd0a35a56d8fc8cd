"""From an upload to its proofs, with real workers: the journey that the others take apart."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from hub.protocol.runtime_builds import CPU, PORTABLE
from tests import samples
from tests.faults.conftest import Hub, wait_for

RUNTIMES = ("onnxruntime", "onnx-reference")
CHECKS = ("bundled", "reference", "optimisation", "determinism")
ENDED = ("succeeded", "failed", "cancelled")


def publish(hub, name, content, files=()):
    """Publish a model with more files; returns the version's path."""
    path = hub.draft(name, content)
    for place, more in dict(files).items():
        status, _, body = hub.call("PUT", f"{path}/files/{place}", {"blob": hub.store(more)})
        assert status == 201, body
    status, _, body = hub.call("POST", f"{path}/submit", {"publish": True})
    assert status == 200, body
    wait_for(lambda: hub.state(path) == "published", f"{name} to be published", 60)
    return path


def proven(hub, path):
    """The results of a version once every check of the original and its two upgrades has one.

    The reference is tested as a runtime on uploaded files alone.
    """
    names = [row["name"] for row in hub.call("GET", f"{path}/variants")[2]["items"]]
    found = results(hub, path)
    whole = len(CHECKS) * (len(RUNTIMES) + 2)
    return found if len(names) == 3 and len(found) == whole else None


def results(hub, path, **narrowed):
    items = hub.call("GET", f"{path}/conformance")[2]["items"]
    return {
        (item["variant"], item["runtime"], item["check"]): item
        for item in items
        if all(item[key] == value for key, value in narrowed.items())
    }


def bundled(content, *, wrong=0.0):
    """One data set for a model of one input, its outputs as the reference gives them."""
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_model_from_string(content)
    given = model.graph.input[0]
    shape = [axis.dim_value or 2 for axis in given.type.tensor_type.shape.dim]
    value = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    [output] = ReferenceEvaluator(model).run(None, {given.name: value})
    tensors = {"input_0": value, "output_0": output + np.float32(wrong)}
    return {
        f"test_data_set_0/{name}.pb": numpy_helper.from_array(tensor).SerializeToString()
        for name, tensor in tensors.items()
    }


def converted(hub, version):
    rows = hub.call("GET", f"{version}/variants")[2]["items"]
    return [row for row in rows if row["origin"] == "converted"]


def test_what_is_published_is_upgraded_and_proven_and_wrong_data_are_blamed(tmp_path):
    hub = Hub(tmp_path / "home", HUB_LIMITS_STAGE_SECONDS="20", HUB_LIMITS_LEASE_SECONDS="30")
    try:
        content = samples.mlp()
        good = publish(hub, "good", content, bundled(content))
        bad = publish(hub, "bad", content, bundled(content, wrong=1.0))
        shown = wait_for(lambda: proven(hub, good), "the proofs", 120)
        blamed = wait_for(lambda: proven(hub, bad), "the proofs", 120)
        names = {row["name"]: row for row in hub.call("GET", f"{good}/variants")[2]["items"]}
        rows = [row for row in names.values() if row["origin"] == "upgraded"]
        assert {(row["opset"], row["portable"]) for row in rows} == {
            (CPU.ceiling.opset, False),
            (PORTABLE.opset, True),
        }
        for upgraded in rows:
            assert upgraded["derivation"]["parity"]["judges"] == ["original", "reference"]
            assert (upgraded["proof"]["strength"], upgraded["proof"]["chosen"]) == ("schema", True)
        for variant in names:
            for check in CHECKS:
                assert shown[variant, "onnxruntime", check]["outcome"] == "passed", check
        assert shown["default", "onnx-reference", "bundled"]["outcome"] == "passed"
        found = {
            (one["outcome"], one["blames"])
            for (_, _, check), one in blamed.items()
            if check == "bundled"
        }
        assert found == {("cantTell", "data")}
        status, _, job = hub.call("POST", f"{good}/variants", {"kind": "int8"})
        assert status == 202
        wait_for(lambda: hub.job(job["uuid"])["state"] in ENDED, "the conversion", 120)
        assert hub.job(job["uuid"])["state"] == "succeeded", hub.job(job["uuid"])
        # The variant is added after the job has ended, when its event is delivered.
        [int8] = wait_for(lambda: converted(hub, good), "the variant", 60)
        status, _, found = hub.call("GET", "resolve?ref=zoo/good&variant=int8")
        assert status == 200
        assert found["variant"]["entry"] == int8["entry"]
        _, _, written = hub.call("GET", f"{good}/files/{int8['entry']}")
        assert len(written) == int8["size"]
        onnx.checker.check_model(onnx.load_model_from_string(written))
    finally:
        hub.stop()
