"""Stored graphs follow their rows, and hold what everybody may see and nothing else."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from metadata.models import NamedGraph, Revision
from metadata.store import maintenance, services
from registry.core import outbox
from registry.models import Delivery, RegisteredModel, Version
from registry.versions.services import registered_models, versions
from registry.versions.services.deprecations import deprecate, undeprecate
from tests import factories, proven, shared

HOME = "http://testserver"
ONE = f"{HOME}/models/ada/net/v/1/metadata"
TWO = f"{HOME}/models/ada/net/v/2/metadata"
MODEL = f"{HOME}/models/ada/net/metadata"
HUB = {f"{HOME}/catalog", f"{HOME}/agents/worker/metadata"}
# What a model and its versions name: who publishes them, and under which licence.
NAMED = {f"{HOME}/agents/ada/metadata", f"{HOME}/licences/apache-2.0/metadata"}
GRAPH = "https://a.example/g"
CHECKSUM = "spdx.org/rdf/terms#checksumValue"


def text(iri):
    return NamedGraph.objects.get(iri=iri).nquads


def filled():
    return set(NamedGraph.objects.exclude(nquads="").values_list("iri", flat=True))


def quad(value):
    return f'<http://x/s> <http://x/p> "{value}" <{GRAPH}> .\n'


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def test_an_equal_graph_is_not_written_again(db):
    assert services.put_graph(GRAPH, quad(1))
    assert not services.put_graph(GRAPH, quad(1))
    assert services.put_graph(GRAPH, quad(2))
    assert services.put_graph("https://a.example/h", "")
    assert Revision.objects.get().number == 3
    assert NamedGraph.objects.get(iri=GRAPH).revision == 2


def test_a_removed_graph_is_empty_under_a_new_revision(db):
    services.put_graph(GRAPH, quad(1))
    assert services.remove_graph(GRAPH)
    assert not services.remove_graph(GRAPH)
    assert not services.remove_graph("https://a.example/other")
    row = NamedGraph.objects.get()
    assert (row.nquads, row.sha256, row.revision) == ("", services.digest(""), 2)


def test_a_published_version_has_a_graph_and_its_model_too(published):
    assert filled() == {ONE, MODEL} | HUB | NAMED
    assert NamedGraph.objects.get(iri=ONE).version == published
    assert published.files.get(path="model.onnx").blob_id in text(ONE)
    assert f"<{HOME}/models/ada/net/v/1>" in text(MODEL)
    assert not Delivery.objects.exists()


def test_a_deprecation_names_its_successor_while_that_is_public(ada, published):
    better = factories.published(ada, factories.model(ada, "better"))
    deprecate(ada, published, message="Wrong", successor="ada/better@1")
    deprecate(ada, published.model, message="Old", successor="ada/better")
    outbox.deliver()
    replaced = "http://purl.org/dc/terms/isReplacedBy"
    assert f"<{replaced}> <{HOME}/models/ada/better/v/1>" in text(ONE)
    assert f"<{replaced}> <{HOME}/models/ada/better>" in text(MODEL)
    registered_models.edit(ada, model=better.model, visibility="private")
    outbox.deliver()
    for graph in map(text, (ONE, MODEL)):
        assert "owl#deprecated" in graph
        assert "better" not in graph
    registered_models.edit(ada, model=better.model, visibility="public")
    undeprecate(ada, published)
    outbox.deliver()
    assert "owl#deprecated" not in text(ONE)
    assert f"<{replaced}> <{HOME}/models/ada/better>" in text(MODEL)


def test_what_was_not_published_has_none(ada):
    factories.submitted(ada)
    factories.draft(ada, factories.model(ada, "other"))
    outbox.deliver()
    assert filled() <= HUB


def test_private_models_never_have_a_graph(ada):
    factories.published(ada, factories.model(ada, visibility="private"))
    assert filled() == HUB
    maintenance.rebuild()
    assert filled() == HUB
    assert not NamedGraph.objects.filter(nquads__contains="ada/net").exists()


def test_a_model_that_becomes_private_loses_them_and_gets_them_back(ada, published):
    model = registered_models.edit(ada, model=published.model, visibility="private")
    outbox.deliver()
    assert filled() == HUB
    registered_models.edit(ada, model=model, visibility="public")
    outbox.deliver()
    assert filled() == {ONE, MODEL} | HUB | NAMED


@pytest.mark.usefixtures("lists")
def test_a_deleted_model_has_none(ada, published):
    registered_models.delete(ada, model=published.model, tombstone=False)
    outbox.deliver()
    assert filled() == HUB


def test_of_a_withdrawn_version_claims_stay_and_the_next_one_forgets_it(ada, published):
    second = factories.published(ada, published.model)
    assert second.number == 2
    assert f"#previousVersion> <{HOME}/models/ada/net/v/1>" in text(TWO)
    versions.withdraw(ada, version=published, reason="Wrong data.")
    outbox.deliver()
    assert filled() == {ONE, TWO, MODEL} | HUB | NAMED
    for statement in ("adms/status/Withdrawn", "wasInvalidatedBy", '"Wrong data."', "license"):
        assert statement in text(ONE)
    for gone in ("distribution", "hasFile", "hasVariant", "description", "deprecated"):
        assert gone not in text(ONE)
    assert "previousVersion" not in text(TWO)
    assert "/v/1>" not in text(MODEL)


def test_a_yanked_version_keeps_its_graph(ada, published):
    versions.yank(ada, version=published, reason="Wrong labels.")
    outbox.deliver()
    assert "owl#deprecated" in text(ONE)
    assert "hasCurrentVersion" not in text(MODEL)
    versions.restore(ada, version=Version.objects.get(pk=published.pk))
    outbox.deliver()
    assert "owl#deprecated" not in text(ONE)


def test_results_of_jobs_join_the_graph_as_they_end(published):
    before = NamedGraph.objects.get(iri=ONE).revision
    found = proven.conformance(published, [proven.measure("bundled", "failed", blames="runtime")])
    assert f"#conf-{found['bundled'].pk}-result> <http://www.w3.org/ns/earl#outcome>" in text(ONE)
    variant = proven.convert(published)
    assert f"#variant-{variant.name}> <http://www.w3.org/ns/prov#wasDerivedFrom>" in text(ONE)
    assert f"{HOME}/jobs/{variant.job_uuid}>" in text(ONE)
    assert NamedGraph.objects.get(iri=ONE).revision > before


def test_the_graph_names_the_pass_of_the_optimiser_at_fault(published):
    wrong = proven.measure(
        "optimisation", "failed", blames="optimiser", graph_pass="DivMulFusion", runs=False
    )
    proven.conformance(published, [wrong])
    graph = text(ONE)
    assert 'blames> "optimiser"' in graph
    assert 'graphPass> "DivMulFusion"' in graph


def test_the_graph_says_how_computed_a_half_precision_variant_was(published):
    proven.convert(published, b"half", recipe="fp16", precision="fp16", profile="fp16")
    assert '"computed in float32 on CPU; not in half"@en' in text(ONE)


def test_the_graph_says_how_far_an_upgrade_was_shown_to_be_equal(published):
    proven.upgrade(published)
    said = text(ONE)
    assert "#variant-opset26> <" in said
    assert 'ns#proofStrength> "certified"' in said or 'ns/proofStrength> "certified"' in said
    assert f'proofStatement> "{proven.PROOF.sentence}"' in said


def test_an_edited_model_is_told_anew(ada, published):
    registered_models.edit(ada, model=published.model, summary="Newly said.")
    outbox.deliver()
    assert "Newly said." in text(MODEL)


@pytest.mark.usefixtures("lists")
def test_a_deleted_models_late_news_spare_its_successor(ada):
    old = factories.model(ada)
    registered_models.delete(ada, model=old)
    factories.published(ada, factories.model(ada))
    maintenance.refresh_model(old.pk, with_versions=True)
    assert RegisteredModel.objects.filter(name="net").count() == 2
    assert {ONE, MODEL} <= filled()


def test_rebuilding_changes_nothing_that_is_right(published, capsys):
    number = Revision.objects.get().number
    call_command("rebuild_graphs")
    call_command("rebuild_graphs", "--check")
    assert "0 graphs changed" in capsys.readouterr().out
    assert Revision.objects.get().number == number


@pytest.mark.parametrize(
    ("iri", "changed", "said"),
    [
        (ONE, {"nquads": "<a:a> <a:b> <a:c> <a:g> .\n"}, "differs from the database"),
        (ONE, {"sha256": "0" * 64}, "another digest"),
        (ONE, {"iri": f"{HOME}/elsewhere"}, "should be empty"),
        (MODEL, None, "is missing"),
    ],
)
def test_the_check_finds_a_row_that_was_tampered_with(published, capsys, iri, changed, said):
    row = NamedGraph.objects.filter(iri=iri)
    if changed is None:
        row.delete()
    else:
        row.update(**changed)
    with pytest.raises(CommandError):
        call_command("rebuild_graphs", "--check")
    assert said in capsys.readouterr().out
    call_command("rebuild_graphs")
    call_command("rebuild_graphs", "--check")


def test_writing_a_graph_takes_few_queries(published, django_assert_max_num_queries):
    with django_assert_max_num_queries(40):
        maintenance.refresh_version(published.pk)
