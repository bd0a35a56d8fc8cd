"""Home leads with what is proven, one model for each task, and says what to do where nothing is."""

from __future__ import annotations

import re

import pytest

from hub.protocol.intervals import IntervalMethod
from registry.catalogue import documents
from registry.core import outbox
from registry.models import DocumentAccuracy, RegisteredModel, SearchDocument
from tests import factories, proven, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
CARD = "---\nlicense: mit\npipeline_tag: tabular-classification\n---\nIt was trained.\n"


def names(html):
    table = html.partition('<caption class="sr">Best proven models</caption>')[2]
    table = table.partition("</table>")[0]
    return re.findall(r'<a\s+href="/models/([^"]*)"', table)


def passing(owner, name, runtimes=("onnxruntime",), outcome="passed", **more):
    version = factories.published(owner, factories.model(owner, name), **more)
    for runtime in runtimes:
        proven.conformance(
            version, [proven.measure("reference", outcome, runtime=runtime)], runtime=runtime
        )
    outbox.deliver()
    return version


def test_an_empty_hub_says_the_next_step(guest):
    html = guest.page("/")
    assert "<b>No models yet</b>" in html
    assert 'href="/upload"' in html
    assert 'href="/help"' in html


def test_without_any_proof_the_newest_stand_there(guest, ada):
    factories.version(ada)
    html = guest.page("/")
    assert "No model has passed on a runtime yet." in html
    assert names(html) == []
    assert '<a href="/models/ada/net">ada/net</a>' in html.partition('id="new"')[2]


def test_the_best_proven_of_each_task_stands_first(guest, ada):
    passing(ada, "both", ("onnxruntime", "openvino"))
    passing(ada, "one")
    passing(ada, "failing", outcome="failed")
    factories.published(ada, factories.model(ada, "newest"))
    html = guest.page("/")
    assert "Best proven, by task" in html
    assert names(html) == ["ada/both"]


def test_of_two_that_pass_alike_the_one_that_is_measured_stands_first(guest, ada):
    measured = passing(ada, "measured")
    passing(ada, "newer")
    timed.benchmark(measured)
    assert names(guest.page("/")) == ["ada/measured"]


def test_many_new_models_hide_no_task_and_no_better_one(guest, ada):
    passing(ada, "wine", card=CARD)
    passing(ada, "best", ("onnxruntime", "openvino"))
    for number in range(21):
        passing(ada, f"new-{number}")
    assert names(guest.page("/")) == ["ada/best", "ada/wine"]


def test_what_passes_on_the_reference_alone_is_not_proven(guest, ada):
    passing(ada, "alone", ("onnx-reference",))
    assert names(guest.page("/")) == []


def test_members_see_what_is_proven_among_their_own(reader, guest, ada):
    version = passing(ada, "hidden", ("onnxruntime", "openvino"))
    passing(ada, "public")
    RegisteredModel.objects.filter(pk=version.model_id).update(visibility="private")
    documents.refresh(version.model_id)
    assert names(reader.page("/")) == ["ada/hidden"]
    assert names(guest.page("/")) == ["ada/public"]


def test_each_model_has_its_accuracy_its_latency_and_its_verdicts(guest, ada):
    version = passing(ada, "net")
    document = SearchDocument.objects.get(pk=version.model_id)
    figure = {"metric": "accuracy", "dataset": "digits", "version": 2, "split": "test"}
    interval = {
        "value": 0.9,
        "low": 0.85,
        "high": 0.95,
        "interval_method": IntervalMethod.CLOPPER_PEARSON,
    }
    for rows, other in ((500, {}), (20, {"split": "small", "value": 0.1, "low": 0.0})):
        DocumentAccuracy.objects.create(document=document, rows=rows, **figure | interval | other)
    document.speeds.create(
        device="a-cpu", device_title="A CPU", runtime="onnxruntime", status="noisy", p50_ms=1.5,
        result=1,
    )  # fmt: skip
    row = guest.page("/").partition("Best proven models</caption>")[2].partition("</table>")[0]
    assert "90\u202f%" in row
    assert "Accuracy on digits@2" in row
    assert "Latency (p50) on A CPU, ONNX Runtime" in row
    latency = '<data value="1.5">1.5\u202fms</data>'
    assert f'class="muted" href="/models/ada/net/v/1/benchmarks/1">{latency}</a>' in row
    assert "<small>noisy</small>" in row
    assert 'title="ONNX Runtime: passes"' in row


def test_the_newest_upgrade_with_a_proof_is_shown(guest, ada):
    version = factories.published(ada)
    assert "from operator set" not in guest.page("/")
    variant = proven.upgrade(version)
    outbox.deliver()
    html = " ".join(guest.page("/").split())
    original = version.variants.get(origin="uploaded").opset
    assert f"from operator set {original} to {variant.opset}: {variant.proof_sentence}." in html
    RegisteredModel.objects.update(visibility="private")
    assert "from operator set" not in guest.page("/")
