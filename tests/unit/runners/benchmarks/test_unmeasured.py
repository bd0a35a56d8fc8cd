"""Why a variant has no benchmark, in words and in the API; what does not load is not timed."""

from __future__ import annotations

import pytest
from django.utils import timezone

from registry.models import Variant
from runners.benchmarks import scheduling, unmeasured
from runners.models import Job, Worker
from runners.queue import order, services
from tests import factories, proven, shared, timed

pytestmark = pytest.mark.django_db

OFFERED = {
    "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
    "runtimes": {"onnxruntime": "1.31.1"},
    "providers": ["CPUExecutionProvider"],
}
VERDICTS = {name: {"verdict": "ok", "message": ""} for name in ("scan", "checker", "inference")}
WORDS = "Could not find an implementation for Add(14) node with name 'sum'"
REASON = f"ONNX Runtime 1.31.1 does not load the model: {WORDS}"


@shared.rows
def start():
    return factories.version(factories.somebody("ada"))


@pytest.fixture
def version(start, settings):
    settings.HUB_BENCH = "light"
    services.see("w1", host="h1", pool="cpu,bench-cpu", features=OFFERED)
    return shared.fresh(start)


def main(version):
    return version.variants.select_related("entry", "version").get()


def checked(version, word, message=WORDS):
    """Let a check have ended with a verdict of the runtime; its outcome does not matter."""
    job = services.enqueue(
        kind="check", version=version, entry="model.onnx", priority=0, again=True
    )
    taken = services.claim("w1", ["cpu"], uuid=job.pk)
    verdicts = VERDICTS | {"load": {"verdict": word, "message": message}}
    assert services.finish(taken, factories.report("check", facts={"verdicts": verdicts}))


def benchmarks():
    return list(Job.objects.filter(kind="benchmark"))


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("word", ["invalid", "unsupported"])
def test_what_the_runtime_does_not_load_is_not_timed_and_that_is_said(client, version, word):
    checked(version, word)
    assert scheduling.schedule_missing(version) == 0
    assert benchmarks() == []
    assert unmeasured.of(main(version)) == unmeasured.Standing("not measured", REASON)
    answer = client.get(f"/api/v1/models/{version.model.ref}/versions/1/variants").json()
    assert answer["items"][0]["benchmark"] == {
        "state": "not measured",
        "reason": REASON,
        "job": None,
    }
    page = client.get(f"/models/{version.model.ref}/v/1/benchmarks").content.decode()
    assert "does not load the model: Could not find an implementation" in page


def test_a_later_release_that_loads_it_has_it_timed(version):
    checked(version, "unsupported")
    checked(version, "ok", "")
    assert scheduling.schedule_missing(version) == 1
    [job] = benchmarks()
    assert unmeasured.of(main(version)) == unmeasured.Standing("queued", "", job)


def test_other_runtimes_and_derived_files_are_timed_all_the_same(version):
    checked(version, "unsupported")
    vino = {"versions": {"openvino": "2026.4.1"}, "runtimes": {"openvino": "2026.4.1"}}
    services.see("w3", host="h3", pool="bench-cpu.openvino", features=vino)
    assert scheduling.schedule_missing(version) == 1
    assert [job.queue for job in benchmarks()] == ["bench-cpu.openvino"]
    derived = main(version)
    derived.origin = Variant.Origin.CONVERTED
    assert unmeasured.obstacle(derived) == ""


def test_an_upgrade_that_loads_stands_in_for_its_original(version):
    proven.upgrade(version)
    Job.objects.filter(kind="benchmark").delete()
    assert scheduling.schedule_missing(version) == 1
    assert [job.entry for job in benchmarks()] == ["model.onnx"]
    Job.objects.filter(kind="benchmark").delete()
    checked(version, "unsupported")
    assert scheduling.schedule_missing(version) == 1
    [job] = benchmarks()
    assert (job.entry, job.priority) == ("model.opset26.onnx", order.FIRST)
    assert scheduling.schedule_missing(version) == 0


def test_each_cause_has_its_words(version, settings):
    variant = main(version)
    assert unmeasured.of(variant).reason == "No benchmark was queued yet."
    variant.origin = Variant.Origin.UPGRADED
    assert unmeasured.of(variant).reason == "Upgraded variants are benchmarked on request only."
    variant.origin = Variant.Origin.UPLOADED
    Worker.objects.all().delete()
    assert unmeasured.of(variant).reason == "Benchmarks need a worker of the pool bench-cpu."
    settings.HUB_BENCH = "off"
    assert "switched off" in unmeasured.of(variant).reason
    variant.version.state = "submitted"
    assert unmeasured.of(variant).reason == "Benchmarks run after publication."


def test_a_benchmark_that_failed_says_why(version):
    scheduling.schedule_missing(version)
    Job.objects.filter(kind="benchmark").update(
        state="failed", finished_at=timezone.now(), error_detail="The model does not run."
    )
    standing = unmeasured.of(main(version))
    assert (standing.state, standing.reason) == ("not measured", "The model does not run.")


@pytest.mark.usefixtures("lists")
def test_noisy_results_are_results(client, version):
    timed.benchmark(version, 1.5, deliver=False, spread=0.3)
    assert unmeasured.of(main(version)).state == "measured"
    page = client.get(f"/models/{version.model.ref}/v/1/benchmarks").content.decode()
    assert "Not measured" not in page
    assert "noisy" in page.partition('class="rank num" data-word="Rank">')[2].partition("</tr>")[0]
