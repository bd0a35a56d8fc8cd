"""Predicted latencies in lists: from public accepted results alone, marked, kept up, never a read's
work.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from registry.catalogue import documents, search
from registry.catalogue.query import Query
from registry.catalogue.speeds import Setup
from registry.models import PredictedSpeed, RegisteredModel, Variant
from runners.benchmarks import cost_features, predictions
from runners.models import LatencyFit, VariantWork
from tests import drawn, factories, samples, shared, timed
from tests.engine.costs.test_costs import attention_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
GUEST = AnonymousUser()
HERE = Setup("example-cpu-2-cores", "onnxruntime", timed.CPU)
MEASURED = 11


def model_version(owner, name, macs, operators=("Gemm",), content=None):
    """A listed model whose graph does so many operations."""
    contents = {"model.onnx": content or samples.mlp(hidden=1 + Variant.objects.count())}
    version = factories.version(owner, factories.model(owner, name), contents)
    Variant.objects.filter(version=version).update(macs=macs)
    columns = [0.0] * len(cost_features.COLUMNS)
    columns[cost_features.COLUMNS.index(("matrix", "macs"))] = float(macs)
    variant = version.variants.get()
    VariantWork.objects.create(
        variant=variant,
        entry_sha256=variant.entry.blob_id,
        columns=columns,
        operators=list(operators),
    )
    documents.refresh(version.model_id)
    return version


@shared.rows
def start():
    ada = factories.somebody("ada")
    for number in range(1, MEASURED + 1):
        version = model_version(ada, f"m{number}", number * 1000)
        # A millisecond for each thousand operations, a little more or less.
        timed.benchmark(version, number * (1.1 if number % 2 else 1.0), deliver=False)
        documents.refresh(version.model_id)
    versions = [model_version(ada, "between", 5500)]
    versions.append(model_version(ada, "unlike", 5600, ("Gemm", "LSTM")))
    versions.append(model_version(ada, "beyond", 900_000))
    return versions


@pytest.fixture
def between(start, db):
    return shared.fresh(start)[0]


def fastest(actor=GUEST, **more):
    query = Query.of(sort="fastest", predicted=True, **HERE._asdict(), **more)
    return [row.title.partition("/")[2] for row in search.find(actor, query, limit=50).items]


def predicted():
    return {row.document.model.name: row for row in PredictedSpeed.objects.all()}


@pytest.mark.usefixtures("between")
def test_what_was_not_measured_is_predicted_from_what_was():
    assert predictions.keep_up() == 1
    (row,) = PredictedSpeed.objects.all()
    assert (row.document.model.name, row.models_measured) == ("between", MEASURED)
    assert row.p50_ms == pytest.approx(5.7, abs=0.5)
    assert row.low_ms < row.p50_ms < row.high_ms < 7
    fit = LatencyFit.objects.get()
    assert (fit.device, fit.operators) == (HERE.device, ["Gemm"])
    assert 0 < fit.median_error < fit.factor - 1 + 1e-9


@pytest.mark.usefixtures("between")
def test_a_round_without_anything_new_changes_nothing(django_assert_max_num_queries):
    predictions.keep_up()
    before = list(PredictedSpeed.objects.values_list("pk", flat=True))
    with django_assert_max_num_queries(15):
        assert predictions.keep_up() == 0
    assert list(PredictedSpeed.objects.values_list("pk", flat=True)) == before


@pytest.mark.usefixtures("between")
def test_a_graph_that_is_counted_after_its_benchmark_takes_part_then():
    lacking = Variant.objects.get(version__model__name="m11")
    columns = lacking.work.columns
    lacking.work.delete()
    Variant.objects.filter(pk=lacking.pk).update(macs=None)
    documents.refresh(lacking.version.model_id)
    predictions.keep_up()
    assert LatencyFit.objects.get().models_measured == MEASURED - 1
    VariantWork.objects.create(
        variant=lacking,
        entry_sha256=lacking.entry.blob_id,
        columns=columns,
        operators=["Gemm"],
    )
    predictions.keep_up()
    assert LatencyFit.objects.get().models_measured == MEASURED


def test_a_result_replaces_the_prediction_and_the_fit(between):
    predictions.keep_up()
    first = LatencyFit.objects.get().training_sha256
    timed.benchmark(between, 5.0, deliver=False)
    documents.refresh(between.model_id)
    assert predictions.keep_up() == 0
    assert predicted() == {}
    assert LatencyFit.objects.get().training_sha256 != first


def test_a_noisy_result_is_shown_in_place_of_a_prediction_and_trains_none(between):
    timed.benchmark(between, 5.0, spread=0.3, deliver=False)
    documents.refresh(between.model_id)
    assert predictions.keep_up() == 0
    assert LatencyFit.objects.get().models_measured == MEASURED


@pytest.mark.usefixtures("between")
def test_too_few_measured_models_and_none_at_all_predict_nothing():
    predictions.keep_up()
    models = RegisteredModel.objects.filter(name__in=["m1", "m2"])
    for model in models:
        Variant.objects.filter(version__model=model).first().measurements.all().delete()
        documents.refresh(model.pk)
    assert predictions.keep_up() == 0
    assert not PredictedSpeed.objects.exists()
    assert LatencyFit.objects.get().factor is None
    for version in Variant.objects.all():
        version.measurements.all().delete()
        documents.refresh(version.version.model_id)
    predictions.keep_up()
    assert not LatencyFit.objects.exists()


@pytest.mark.usefixtures("between")
def test_a_private_models_timing_trains_nothing_and_its_members_see_its_prediction(ada):
    RegisteredModel.objects.filter(name__in=["m11", "between"]).update(visibility="private")
    for pk in RegisteredModel.objects.values_list("pk", flat=True):
        documents.refresh(pk)
    predictions.keep_up()
    assert LatencyFit.objects.get().models_measured == MEASURED - 1
    assert "between" in predicted()
    assert "between" not in fastest()
    assert "between" in fastest(ada)


@pytest.mark.usefixtures("between")
def test_only_private_results_make_no_fit_that_strangers_see():
    RegisteredModel.objects.exclude(name="between").update(visibility="private")
    for pk in RegisteredModel.objects.values_list("pk", flat=True):
        documents.refresh(pk)
    predictions.keep_up()
    assert not PredictedSpeed.objects.exists()
    assert not LatencyFit.objects.exists()


def test_a_new_version_drops_the_prediction_of_the_old_one(ada, between):
    predictions.keep_up()
    factories.version(ada, between.model, {"model.onnx": samples.mlp(hidden=77)})
    documents.refresh(between.model_id)
    assert predicted() == {}
    assert predictions.keep_up() == 0  # its graph is not counted yet


@pytest.mark.usefixtures("between")
def test_predictions_stand_among_the_results_only_where_they_are_asked_for():
    predictions.keep_up()
    order = fastest()
    assert order.index("between") in (5, 6)
    assert order[:3] == ["m1", "m2", "m3"]
    plain = Query.of(sort="fastest", **HERE._asdict())
    measured = [row.title for row in search.find(GUEST, plain, limit=50).items]
    assert "ada/between" in measured[MEASURED:]
    high = PredictedSpeed.objects.get().high_ms
    assert "between" in fastest(max_p50=high)
    assert "between" not in fastest(max_p50=high - 0.01)
    limited = search.find(GUEST, Query.of(max_p50=high, **HERE._asdict())).items
    assert "ada/between" not in [row.title for row in limited]


@pytest.mark.usefixtures("between")
def test_pages_go_on_across_results_and_predictions():
    predictions.keep_up()
    query = Query.of(sort="fastest", predicted=True, **HERE._asdict())
    found, cursor = [], ""
    while True:
        page = search.find(GUEST, query, limit=2, cursor=cursor)
        found += [row.title.partition("/")[2] for row in page.items]
        if not page.next:
            break
        cursor = page.next
    assert found == fastest()
    assert len(found) == len(set(found)) == MEASURED + 3


@pytest.mark.usefixtures("between")
def test_rest_marks_predictions(api):
    predictions.keep_up()
    row = PredictedSpeed.objects.get()
    asked = f"models?max_p50={row.high_ms}&limit=50"
    names = [item["name"] for item in api().get(asked).json()["items"]]
    assert "between" not in names
    body = api().get(f"{asked}&predicted=true").json()
    (item,) = [item for item in body["items"] if item["name"] == "between"]
    assert item["speed"] == {
        "status": "predicted", "predicted": True, "device": HERE.device, "p50_ms": row.p50_ms,
        "low_ms": row.low_ms, "high_ms": row.high_ms, "models_measured": MEASURED, "url": None,
        "interval_level": 80, "interval_method": "errors of held-out models",
    }  # fmt: skip
    (fit,) = item["fits"]
    assert (fit["basis"], fit["low"], fit["high"]) == ("predicted", row.low_ms, row.high_ms)


@pytest.mark.usefixtures("between")
@pytest.mark.capability("sparql")
def test_the_pages_mark_predictions(client):
    def page(address):
        return client.get(address, follow=True).content.decode()

    assert "include predictions" not in page("/models")
    predictions.keep_up()
    listing = page("/models?q=between")
    assert "include predictions" in listing
    assert '<span class="tag part">predicted</span>' in listing
    assert "Predicted from 11 measured models" in listing
    limited = page("/models?max_p50=9&predicted=1")
    assert 'href="/models/ada/between"' in limited
    assert "upper end of their prediction" in limited
    assert "Predictions are not in the graphs" in limited
    assert 'href="/models/ada/between"' not in page("/models?max_p50=9")
    speeds = page("/models/ada/between/v/1/benchmarks")
    assert "Predicted latency" in speeds
    assert "11 measured models" in speeds
    assert "Predicted latency" not in page("/models/ada/m1/v/1/benchmarks")


def test_the_work_of_a_graph_is_read_from_its_counted_costs(ada):
    contents = {"model.onnx": attention_model().SerializeToString()}
    version = factories.published(ada, contents=contents)
    drawn.draw(version)
    predictions.keep_up()
    work = VariantWork.objects.get()
    columns = dict(zip(cost_features.COLUMNS, work.columns, strict=True))
    assert columns["matrix", "macs"] == 256 * 128 + 32 * 128**2
    assert "MatMul" in work.operators
    assert work.has_free_sizes
    variant = version.variants.get()
    port = {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["batch", "steps", 16]}
    variant.facts["inputs"] = [port]
    inputs = [{"name": "x", "dtype": "float32", "shape": [2, 10, 16]}]
    measured = predictions._at_measured_sizes(variant, inputs)
    columns = dict(zip(cost_features.COLUMNS, measured.columns, strict=True))
    assert columns["matrix", "macs"] == 256 * 20 + 32 * 2 * 100


def test_an_interval_must_hold_its_prediction(between):
    fits = {
        "document": between.model.search_document, "variant": 1, "device": "cpu",
        "device_title": "CPU", "runtime": "onnxruntime", "p50_ms": 2.0, "low_ms": 1.0,
        "high_ms": 3.0, "models_measured": 12,
    }  # fmt: skip
    for wrong in ({"low_ms": 2.5}, {"high_ms": 1.5}, {"low_ms": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            PredictedSpeed.objects.create(**(fits | wrong))
    PredictedSpeed.objects.create(**fits)
    with pytest.raises(IntegrityError), transaction.atomic():
        PredictedSpeed.objects.create(**fits)
