"""One vocabulary of metrics: every name of a metric is one, and every value on one scale."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hub.protocol.vocabularies import REPORTED_METRICS, metric_name
from metadata.models import NamedGraph
from metadata.rdf import iris
from registry.cards import cards, metrics
from registry.core import outbox
from registry.versions.services import registered_models
from tests import factories

HOME = "http://testserver"
VALUE = "<http://www.w3.org/ns/dqv#value>"


@pytest.mark.parametrize(
    ("written", "metric"),
    [
        ("acc", "accuracy"),
        (" Accuracy ", "accuracy"),
        ("Top-1 accuracy", "top-1"),
        ("top_1_accuracy", "top-1"),
        ("acc@5", "top-5"),
        ("ROC AUC", "roc_auc"),
        ("roc-auc", "roc_auc"),
        ("AUROC", "roc_auc"),
        ("macro F1", "f1-macro"),
        ("f1", "f1"),
        ("Word Error Rate", "wer"),
        ("log loss", "log_loss"),
        ("latency-p50", "latency-p50"),
        ("My own metric", "my-own-metric"),
    ],
)
def test_every_name_of_a_metric_is_one(written, metric):
    assert metric_name(written) == metric
    assert iris.Places(HOME).metric(written) == f"{HOME}/metrics/{metric}"


def test_no_alias_means_two_metrics():
    names = [one for name, metric in REPORTED_METRICS.items() for one in (name, *metric.aliases)]
    bare = [name.replace("_", "-") for name in names]
    assert len(set(bare)) == len(bare)


@pytest.mark.parametrize(
    ("name", "value", "unit", "told"),
    [
        ("acc", "66.6", "", ("0.666", "percent")),
        ("accuracy", "0.913", "", ("0.913", "")),
        ("accuracy", "66.6", "percent", ("0.666", "percent")),
        ("accuracy", "0.7", "percent", ("0.007", "percent")),
        ("accuracy", "0.7", "fraction", ("0.7", "")),
        ("accuracy", "1", "", ("1", "")),
        ("accuracy", "400", "", ("400", "")),
        ("wer", "12.5", "", ("0.125", "percent")),
        ("wer", "1.2", "fraction", ("1.2", "")),
        ("loss", "3.2", "", ("3.2", "")),
        ("my own", "66", "", ("66", "")),
        ("my own", "66", "percent", ("0.66", "percent")),
    ],
)
def test_values_are_on_one_scale(name, value, unit, told):
    found, under = metrics.scaled(name, Decimal(value), unit)
    assert (found, under) == (Decimal(told[0]), told[1])


def card(*rows):
    lines = "".join(f"    - {{type: {name}, value: {value}{more}}}\n" for name, value, more in rows)
    return f"---\nmodel-index:\n- results:\n  - dataset: x\n    metrics:\n{lines}---\n# A model\n"


@pytest.mark.parametrize(
    ("rows", "severity", "said"),
    [
        ([("acc", 66.6, "")], "warning", "interpreted as a percentage"),
        ([("acc", 66.6, ", unit: percent")], None, ""),
        ([("acc", 66.6, ", unit: fraction")], "error", "is a share"),
        ([("acc", 166, "")], "error", "is a share"),
        ([("acc", 0.5, ", unit: furlongs")], "error", "is no unit"),
        (
            [("acc", 66.6, ", unit: percent"), ("f1", 0.7, "")],
            "warning",
            "interpreted as a fraction",
        ),
        ([("acc", 66.6, ", unit: '%'"), ("f1", 0.7, ", unit: fraction")], None, ""),
    ],
)
def test_what_is_ambiguous_is_said(rows, severity, said):
    findings = [one for one in cards.check(card(*rows)).findings if said in one.message]
    if severity is None:
        assert cards.check(card(*rows)).findings == ()
    else:
        assert [one.severity for one in findings] == [severity]


def test_two_models_that_write_differently_are_compared(ada, client, graphs):
    one = card(("acc", 66.6, ", unit: percent"))
    factories.published(ada, factories.model(ada, "one"), card=one)
    factories.published(ada, factories.model(ada, "two"), card=card(("accuracy", 0.913, "")))
    outbox.deliver()
    values = []
    for name in ("one", "two"):
        nquads = NamedGraph.objects.get(iri=f"{HOME}/models/ada/{name}/v/1/metadata").nquads
        assert f"isMeasurementOf> <{HOME}/metrics/accuracy>" in nquads
        values += [line.split('"')[1] for line in nquads.splitlines() if VALUE in line]
    assert values == ["0.666", "0.913"]
    told = client.get("/metrics/acc.nt").content.decode()
    assert f"<{HOME}/metrics/accuracy> <http://qudt.org/schema/qudt/hasUnit>" in told
    assert 'altLabel> "acc"' in told


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("1500", "declared"),
        ("{emissions: 1500}", "declared"),
        ("{emissions: 1500, source: CodeCarbon}", "estimated"),
        ("{emissions: 1500, source: a meter, kind: measured}", "measured"),
        ("{emissions: 1500, source: CodeCarbon, kind: declared}", "declared"),
    ],
)
def test_carbon_says_how_it_was_come_by(ada, written, kind, graphs):
    text = f"---\nco2_eq_emissions: {written}\n---\n# A model\n"
    factories.published(ada, card=text)
    nquads = NamedGraph.objects.get(iri=f"{HOME}/models/ada/net/v/1/metadata").nquads
    (line,) = [one for one in nquads.splitlines() if "#figureKind>" in one]
    assert line.startswith(f"<{HOME}/models/ada/net/v/1#impact> ")
    assert f'"{kind}"' in line
    assert f"#impact> <http://www.w3.org/ns/prov#wasAttributedTo> <{HOME}/agents/ada>" in nquads


def test_an_unknown_kind_of_carbon_is_refused():
    text = "---\nco2_eq_emissions: {emissions: 1, kind: guessed}\n---\n"
    (one,) = cards.check(text).errors
    assert one.field == "co2_eq_emissions.kind"


def test_a_gated_model_is_restricted_in_the_graph(ada, client, graphs):
    version = factories.published(ada)

    def rights(path):
        told = client.get(path).content.decode()
        return [
            line.split("access-right/")[1].partition(">")[0]
            for line in told.splitlines()
            if "dc/terms/accessRights> <http://publications.europa.eu/resource/authority" in line
        ]

    paths = ("/models/ada/net/v/1.nt", "/models/ada/net.nt", "/catalog.nt?profile=dcat-ap")
    assert [rights(path) for path in paths] == [["PUBLIC"]] * 3
    registered_models.edit(ada, model=version.model, gate="manual")
    outbox.deliver()
    assert [rights(path) for path in paths] == [["RESTRICTED"]] * 3
    schema = client.get("/models/ada/net/v/1/export/schema.json").json()
    assert "users must request it" in schema["conditionsOfAccess"]
