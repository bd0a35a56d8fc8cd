"""Which evaluations are owed, what their reports become, and how claims stand beside them."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from registry.core import outbox
from registry.datasets import services as datasets
from registry.models import DocumentAccuracy, Variant
from registry.versions.services import registered_models, versions
from runners.engine.reports import Finding
from runners.evaluations import scheduling, selectors
from runners.models import Evaluation, Job
from tests import evaluated, factories, proven, shared
from tests.evaluated import card

pytestmark = pytest.mark.django_db
CLAIM = ("accuracy", 0.9)


@shared.rows
def start():
    """A published version that claims an accuracy on `stones`, which is no entry yet."""
    ada = factories.somebody("ada")
    return ada, factories.published(ada, card=card(CLAIM))


@pytest.fixture
def net(start, db):
    return shared.fresh(start[1])


@pytest.fixture
def ada(request, db):
    """The owner of `net` in tests that have it."""
    has_net = "net" in request.fixturenames
    return shared.fresh(request.getfixturevalue("start")[0]) if has_net else factories.user("ada")


def test_a_version_that_claims_a_result_is_evaluated(ada):
    stones = evaluated.stones(ada)
    version = factories.version(ada, card=card(CLAIM))
    outbox.deliver()
    (job,) = evaluated.waiting(version=version)
    assert job.input["split"] == evaluated.SPLIT
    assert job.input["data_files"] == {"test.csv": stones.files.get().blob_id}
    assert (job.priority, job.requires) == (scheduling.MAIN, {"runtime": "onnxruntime"})
    assert len(job.content_key) == 64


def test_a_job_has_what_the_card_declares_of_inputs_and_outputs(ada):
    evaluated.stones(ada)
    declared = (
        "inputs: {x: {range: [0, 1]}}\n"
        "outputs: {b: {boxes: {format: xyxy}}}\n"
        "parts: {model.onnx: {outputs: {b: {boxes: {format: xywh}}}}}"
    )
    version = factories.version(ada, card=card(CLAIM, extra=declared))
    outbox.deliver()
    (job,) = evaluated.waiting(version=version)
    assert job.input["inputs"] == {"x": {"range": [0, 1]}}
    assert job.input["outputs"] == {"b": {"boxes": {"format": "xywh"}}}


def test_a_data_set_that_gets_a_version_has_its_claims_measured(ada, net):
    assert evaluated.waiting() == []
    evaluated.stones(ada)
    assert [job.version for job in evaluated.waiting()] == [net]
    datasets.publish_version(
        ada,
        dataset=scheduling.targets(net)[0].dataset.dataset,
        files={"test.csv": factories.blob(ada, b"weight,kind\n2,1\n")},
        splits=[evaluated.SPLIT],
    )
    outbox.deliver()
    assert sorted(job.input["number"] for job in evaluated.waiting()) == [1, 2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (card(CLAIM, split="validation"), "stones@1 has no split 'validation'."),
        (card(CLAIM, split='""'), "The card names no split."),
        (card(CLAIM, dataset="pebbles"), "The data set is not on this hub."),
        (card(("rmse", 0.5)), "Evaluations give no rmse for classification."),
        (card(("recall", 0.5)), "Evaluations give no recall for classification."),
    ],
)
def test_what_no_split_measures_is_not_evaluated_and_the_reason_is_said(ada, text, reason):
    version = factories.published(ada, card=text)
    evaluated.stones(ada)
    assert evaluated.waiting() == []
    (one,) = selectors.overview(version).unmeasured
    assert (one.state, one.reason) == ("not measured", reason)


def test_a_data_set_that_a_card_is_tested_on_is_measured_without_a_claim(ada):
    text = "---\ntested_on: [{name: stones, split: test}]\n---\n# A model\n"
    factories.published(ada, card=text)
    evaluated.stones(ada)
    assert len(evaluated.waiting()) == 1


def test_the_newest_served_version_is_evaluated(ada, net):
    newer = factories.published(ada, net.model, {"model.onnx": b"newer"}, card=card(CLAIM))
    evaluated.stones(ada)
    assert [job.version for job in evaluated.waiting()] == [newer]


def test_other_peoples_names_mean_nothing(ada):
    bob = factories.user("bob")
    factories.published(bob, card=card(CLAIM))
    evaluated.stones(ada)
    assert evaluated.waiting() == []


def test_precisions_and_chosen_upgrades_follow_the_main_variant(ada, net):
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    proven.convert(net)
    proven.upgrade(net)
    outbox.deliver()
    jobs = {job.entry: job.priority for job in evaluated.waiting()}
    is_chosen = Variant.objects.get(version=net, origin=Variant.Origin.UPGRADED).is_chosen
    wanted = {"model.int8.onnx", *(["model.opset26.onnx"] if is_chosen else [])}
    assert jobs == dict.fromkeys(wanted, scheduling.DERIVED)
    evaluated.end(evaluated.waiting(entry="model.int8.onnx")[0])
    claims = {one.row.variant.name: one.claimed for one in selectors.overview(net).measured}
    assert claims == {"default": 0.9, "int8": None}


def test_a_report_becomes_a_row_for_each_metric(ada, net):
    stones = evaluated.stones(ada)
    figures = [("accuracy", 0.8, 0.7, 0.85), ("log_loss", 1.5, 1.2, 1.9)]
    evaluated.end(evaluated.waiting()[0], evaluated.report(figures))
    rows = {row.metric: row for row in Evaluation.objects.all()}
    assert rows.keys() == {"accuracy", "log_loss"}
    row = rows["accuracy"]
    assert (row.value, row.low, row.high, row.rows) == (0.8, 0.7, 0.85, 50)
    assert (row.dataset_version, row.split, row.seed) == (stones, "test", 7)
    assert (row.variant.version, row.predictions_sha256) == (net, evaluated.DIGEST)
    assert row.entry_sha256 == net.files.get(path="model.onnx").blob_id
    (claimed,) = [one for one in selectors.overview(net).measured if one.claimed is not None]
    assert (claimed.row, claimed.claimed, claimed.is_less) == (row, 0.9, True)


@pytest.mark.parametrize(
    ("claimed", "high", "is_less"),
    [(0.9, 0.89, True), (0.9, 0.895, False), (0.9, 0.95, False), (0.7, 0.85, False)],
)
def test_a_claim_is_too_high_by_a_hundredth_above_the_interval(ada, claimed, high, is_less):
    version = factories.published(ada, card=card(("accuracy", claimed)))
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0], evaluated.report([("accuracy", 0.8, 0.7, high)]))
    (one,) = selectors.overview(version).measured
    assert one.is_less is is_less


def test_figures_that_do_not_fit_are_left_out(ada, net):
    evaluated.stones(ada)
    odd = [("accuracy", 1.5, 0, 2), ("f1-macro", "nan", 0, 1), ("bleu", 0.5, 0.4, 0.6)]
    evaluated.end(evaluated.waiting()[0], evaluated.report([*odd, ("log_loss", 3, 2, 4)]))
    assert [row.metric for row in Evaluation.objects.all()] == ["log_loss"]


def test_an_evaluation_that_is_made_again_replaces_its_figures(ada, net):
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    job = scheduling.request(ada, version=net, dataset="stones", split="test")
    assert job.again
    evaluated.end(job, evaluated.report([("accuracy", 0.81, 0.7, 0.9)]))
    (row,) = Evaluation.objects.all()
    assert (row.value, row.job) == (0.81, job)


def test_the_same_bytes_share_an_evaluation_whatever_the_data_set_is_called(ada, net):
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    twin = factories.published(
        ada, factories.model(ada, "twin"), {"model.onnx": factories.samples.mlp()}, card=card(CLAIM)
    )
    jobs = Job.objects.filter(kind="evaluation", version=twin)
    keys = set(Job.objects.filter(kind="evaluation").values_list("content_key", flat=True))
    assert len(keys) == 1
    assert jobs.count() == 1


def test_other_data_or_another_split_have_another_key(ada, net):
    evaluated.stones(ada)
    pebbles = factories.dataset(ada, "pebbles")
    contents = {"test.csv": b"weight,kind\n2,1\n"}
    factories.dataset_version(ada, pebbles, contents, splits=[evaluated.SPLIT])
    other = evaluated.SPLIT | {"name": "other"}
    same = factories.dataset(ada, "same")
    factories.dataset_version(ada, same, splits=[evaluated.SPLIT, other])
    asked = [("pebbles", "test"), ("same", "test"), ("same", "other")]
    keys = [
        scheduling.request(ada, version=net, dataset=name, split=split).content_key
        for name, split in asked
    ]
    (first,) = {job.content_key for job in evaluated.waiting(input__dataset="stones")}
    assert keys[1] == first
    assert len({first, keys[0], keys[2]}) == 3


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (
            evaluated.report(
                outcome="failed", findings=[Finding("split-unfit", "error", "It does not fit.")]
            ),
            "It does not fit.",
        ),
        (evaluated.report([], skipped={"accuracy": "there are none"}), "there are none"),
        (evaluated.report([]), "The evaluation gave no such figure."),
    ],
)
def test_a_claim_that_could_not_be_measured_has_the_reason(ada, net, report, reason):
    evaluated.stones(ada)
    (job,) = evaluated.waiting()
    assert selectors.overview(net).unmeasured[0].state == "queued"
    evaluated.end(job, report)
    (one,) = selectors.overview(net).unmeasured
    assert (one.state, one.reason, one.job) == ("not measured", reason, job)


def test_a_withdrawn_data_set_is_not_measured_on(ada, net):
    stones = evaluated.stones(ada)
    Job.objects.filter(kind="evaluation").delete()
    datasets.withdraw(ada, dataset=stones.dataset, reason="Not ours.")
    outbox.deliver()
    assert scheduling.schedule_missing(net) == 0
    assert evaluated.waiting() == []


def test_rows_have_laws(ada, net):
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    wrong = [
        {"low": 0.9, "high": 0.8},
        {"metric": "bleu"},
        {"value": 1.2, "high": 1.3},
        {"rows": 0},
        {"split": ""},
        {"predictions_sha256": "x"},
    ]
    for values in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            Evaluation.objects.update(**values)


def test_a_new_file_of_a_variant_has_no_measurement(ada, net):
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0])
    assert len(selectors.overview(net).measured) == 1
    Evaluation.objects.update(entry_sha256="b" * 64)
    assert selectors.overview(net).measured == []


def test_withdrawn_and_hidden_versions_are_not_evaluated(ada, net):
    versions.withdraw(ada, version=net, reason="Wrong.")
    registered_models.edit(ada, model=net.model, visibility="private")
    evaluated.stones(ada)
    assert evaluated.waiting() == []


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize(
    ("figure", "low", "high", "method"),
    [
        (("accuracy", 1.0, 1.0, 1.0), 0.9289, 1.0, "Clopper-Pearson"),
        (("accuracy", 0.8, 0.68, 0.9), 0.6628, 0.8997, "Clopper-Pearson"),
        (("f1-macro", 1.0, 1.0, 1.0), 1.0, 1.0, "percentile bootstrap"),
    ],
)
def test_intervals_of_an_earlier_method_are_exact_or_named(ada, net, figure, low, high, method):
    evaluated.stones(ada)
    earlier = evaluated.report([figure])
    for measure in earlier.measures:
        del measure["interval_method"]
    evaluated.end(evaluated.waiting()[0], earlier)
    assert Evaluation.objects.get().interval_method == "percentile bootstrap"
    import_module("runners.migrations.0003_interval_methods").recompute(apps, None)
    row = Evaluation.objects.get()
    assert (round(row.low, 4), round(row.high, 4), row.interval_method) == (low, high, method)
    import_module("registry.migrations.0003_interval_methods").recompute(apps, None)
    document = DocumentAccuracy.objects.get()
    assert (round(document.low, 4), round(document.high, 4)) == (low, high)
    assert document.interval_method == method


def test_a_figure_without_an_interval_is_below_no_claim(ada):
    version = factories.published(ada, card=card(("f1-macro", 0.9)))
    evaluated.stones(ada)
    evaluated.end(evaluated.waiting()[0], evaluated.report([("f1-macro", 0.5, 0.5, 0.5)]))
    (one,) = selectors.overview(version).measured
    assert (one.row.figure.interval, one.claimed, one.is_less) == (None, 0.9, False)
