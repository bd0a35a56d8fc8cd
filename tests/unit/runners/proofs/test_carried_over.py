"""Rows of before 0042, as its migrations carry them over."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from registry.models import Delivery, Variant
from runners.models import ConformanceResult, Runtime
from tests import factories, proven, shared

pytestmark = pytest.mark.django_db
COUNTS = import_module("runners.migrations.0007_conformance_counts")
SCOPES = import_module("registry.migrations.0016_counts_by_scope")


@shared.rows
def start():
    return factories.version(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def result(version, outcome, **fields):
    """A row as an older release wrote it."""
    found = proven.conformance(version, [proven.measure("reference")])["reference"]
    rows = ConformanceResult.objects.filter(pk=found.pk)
    rows.update(outcome=outcome, **fields)
    return rows


def test_results_that_ran_nothing_say_so(version):
    refused = result(
        version, "cantTell", reason="no inputs to run it on: refuses generated-1: Fail"
    )
    other = result(version, "cantTell", reason="no inputs to run it on: out of time")
    unsupported = result(
        version, "inapplicable", reason="onnxruntime does not support it: no Gemm(6)"
    )
    unloaded = result(version, "failed", blames="", reason="onnxruntime does not load it: no")
    Runtime.objects.update(cursor=7)
    COUNTS.recount(apps, None)
    told = [rows.get().runs for rows in (refused, other, unsupported, unloaded)]
    assert told == [False, None, False, False]
    assert set(Runtime.objects.values_list("cursor", "caught_up_at")) <= {(0, None)}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases refuse the older row")
@pytest.mark.parametrize("blames", ["data", "reference"])
def test_wrong_data_and_a_wrong_reference_fail_nobody(version, blames):
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        try:
            rows = result(version, "failed", blames=blames)
        finally:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")
    COUNTS.recount(apps, None)
    assert rows.get().outcome == "cantTell"


def test_lists_and_graphs_are_told(version):
    Delivery.objects.all().delete()
    COUNTS.tell(apps, None)
    told = Delivery.objects.values_list("consumer", "event__model")
    assert set(told) == {(name, version.model_id) for name in (COUNTS.LISTS, COUNTS.GRAPHS)}


@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({"nodes": {"subgraphs": 0}, "operators": [{"domain": "ai.onnx", "name": "Gemm"}]}, 10),
        ({"nodes": {"subgraphs": 3}}, None),
        ({"function_count": 1}, None),
        ({"custom_domains": [{"domain": "com.acme"}]}, None),
        ({"operators": [{"domain": "ai.onnx.ml", "name": "SVMClassifier"}]}, None),
    ],
)
def test_counts_that_may_be_wrong_are_dropped(version, facts, count):
    rows = Variant.objects.filter(version=version)
    rows.update(facts=facts, parameters=10)
    SCOPES.drop(apps, None)
    assert rows.get().parameters == count


@pytest.mark.parametrize(
    ("inference", "load", "outcome"),
    [("invalid", "invalid", "failed"), ("invalid", "ok", "passed"), ("ok", "invalid", "passed")],
)
def test_files_that_two_libraries_call_invalid_have_failed(version, inference, load, outcome):
    verdicts = {"inference": {"verdict": inference}, "load": {"verdict": load}}
    version.checks.filter(kind="onnx").update(
        outcome="passed", report={"files": [{"path": "model.onnx", "verdicts": verdicts}]}
    )
    SCOPES.fail(apps, None)
    assert version.checks.get(kind="onnx").outcome == outcome
