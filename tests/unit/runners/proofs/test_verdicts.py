"""What results say together: who passes, who fails, and what counts against nobody."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from registry.catalogue import searchable
from runners.models import ConformanceResult, ConformanceVerdict
from runners.proofs import selectors, verdicts
from tests import factories, proven

pytestmark = pytest.mark.django_db

BUNDLED, REFERENCE, OPTIMISATION, DETERMINISM = ConformanceResult.Check.values


def row(check, outcome="passed", blames="", runs=None):
    return ConformanceResult(check_kind=check, outcome=outcome, blames=blames, runs=runs)


ONLY_STEADY = [
    row(BUNDLED, "untested"),
    row(REFERENCE, "inapplicable"),
    row(OPTIMISATION, "inapplicable"),
    row(DETERMINISM),
]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([row(BUNDLED, "untested"), row(REFERENCE), row(DETERMINISM)], "passed"),
        ([row(BUNDLED), row(REFERENCE, "cantTell", "reference")], "passed"),
        ([row(BUNDLED, "cantTell", "data"), row(REFERENCE)], "passed"),
        (ONLY_STEADY, "passed"),
        # The same numbers twice, where nobody could say that they are right, are no pass.
        ([row(BUNDLED, "untested"), row(REFERENCE, "cantTell"), row(DETERMINISM)], "cant-tell"),
        (
            [row(BUNDLED, "cantTell", "reference"), row(REFERENCE, "inapplicable"),
             row(DETERMINISM)],
            "reference-wrong",
        ),
        ([row(BUNDLED, "cantTell", "data"), row(DETERMINISM)], "data-wrong"),
        # The comparison with the reference is still to come.
        ([row(BUNDLED), row(OPTIMISATION), row(DETERMINISM)], "passed"),
        ([row(BUNDLED, "untested"), row(OPTIMISATION), row(DETERMINISM)], "cant-tell"),
        ([row(BUNDLED), row(REFERENCE, "failed", "runtime")], "failed"),
        ([row(BUNDLED, "failed", runs=False)], "failed"),
        ([row(check, "cantTell", runs=False) for check in (BUNDLED, REFERENCE)], "does-not-run"),
        ([row(REFERENCE, "inapplicable")], "does-not-apply"),
        ([row(REFERENCE, "inapplicable", runs=False)], "does-not-run"),
    ],
)  # fmt: skip
def test_results_together(rows, verdict):
    assert verdicts.together(rows) == verdict


def test_what_says_nothing_is_counted_apart():
    rows = [
        row(BUNDLED, "untested"),
        row(REFERENCE, "cantTell", "reference"),
        row(OPTIMISATION, "failed", "runtime"),
        row(DETERMINISM),
        row(BUNDLED, "inapplicable"),
    ]
    found = verdicts.tally(rows)
    assert (found.passed, found.failed, found.judged) == (1, 1, 2)
    assert found.apart == (
        (ConformanceVerdict.WRONG_REFERENCE, 1),
        (ConformanceVerdict.UNTESTED, 1),
    )


@pytest.mark.parametrize("blames", ["data", "reference"])
def test_the_database_lets_wrong_data_and_a_wrong_reference_fail_nobody(blames):
    version = factories.version(factories.user("ada"))
    proven.conformance(version, [proven.measure("bundled")])
    with pytest.raises(IntegrityError, match="fail_nobody"), transaction.atomic():
        ConformanceResult.objects.update(outcome="failed", blames=blames)


def test_the_database_lets_the_optimiser_fail_alone():
    version = factories.version(factories.user("ada"))
    wrong = proven.measure(
        "optimisation", "failed", blames="optimiser", graph_pass="DivMulFusion", runs=False
    )
    row = proven.conformance(version, [wrong])["optimisation"]
    assert (row.graph_pass, row.verdict) == ("DivMulFusion", "optimiser-wrong")
    assert verdicts.together([row]) == ConformanceVerdict.WRONG_OPTIMISER
    assert ("fails_on", "onnxruntime") in searchable.facts_of(version, version.variants.get())
    with pytest.raises(IntegrityError, match="wrong_optimiser_fails"), transaction.atomic():
        ConformanceResult.objects.update(outcome="cantTell")
    with pytest.raises(IntegrityError, match="pass_of_the_optimiser"), transaction.atomic():
        ConformanceResult.objects.update(blames="runtime")


def test_older_faults_of_the_optimisation_become_the_optimisers():
    """Where the reference passed, it confirms the optimised outputs."""
    migration = importlib.import_module("runners.migrations.0004_optimiser_faults")
    unoptimised = proven.measure("optimisation", "failed", blames="runtime")
    for name, others in (("first", []), ("second", [proven.measure("reference")])):
        version = factories.version(factories.user(name))
        proven.conformance(version, [unoptimised, *others])
    migration.blame_optimiser(apps, None)
    rows = ConformanceResult.objects.filter(check_kind="optimisation").order_by("pk")
    assert [row.blames for row in rows] == ["optimiser", "runtime"]


def test_a_worker_of_before_lets_wrong_data_fail_and_they_do_not():
    version = factories.version(factories.user("ada"))
    measures = [proven.measure("bundled", "failed", blames="data"), proven.measure("reference")]
    found = proven.conformance(version, measures)
    assert found["bundled"].outcome == "cantTell"
    assert searchable.facts_of(version, version.variants.get()) >= {("passes_on", "onnxruntime")}


def test_a_model_that_runs_nothing_passes_nowhere():
    version = factories.version(factories.user("ada"))
    measures = [proven.measure(check, "cantTell", runs=False) for check in selectors.CHECKS]
    proven.conformance(version, measures)
    told = searchable.facts_of(version, version.variants.get())
    assert ("does_not_run_on", "onnxruntime") in told
    assert not {group for group, _ in told} & {"passes_on", "fails_on"}
