"""Generation of decoders: measured after the check of a package, shown on pages and over HTTP."""

from __future__ import annotations

import pytest
import rdflib
from django.db import IntegrityError, transaction
from django.test import Client

from hub.protocol import problems
from hub.protocol.generation import CheckKind
from registry.packages import services
from registry.packages.models import VersionGeneration
from registry.versions import evidence
from registry.versions.services import versions
from runners.models import Job
from runners.packages import jobs
from tests import decoders, deliveries, factories, packaged
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("packages"), pytest.mark.django_db]
PLACE = "models/ada/net/versions/1/package"
PAGE = "/models/ada/net/v/1"
EARL = rdflib.Namespace("http://www.w3.org/ns/earl#")
DCTERMS = rdflib.DCTERMS


@pytest.fixture(autouse=True)
def _timed(settings):
    settings.HUB_BENCH = "light"


@pytest.mark.usefixtures("graphs")
def test_a_decoder_is_measured_after_its_package(api, ada, publish):
    version = publish(ada, decoders.genai())
    job = Job.objects.get(kind=jobs.GENERATION)
    assert (job.entry, job.pool, job.exclusive) == ("model.onnx", "bench-cpu", "host")
    found = api().get(PLACE).json()["generation"]
    assert (found["model"], found["context_length"], found["reason"]) == ("model.onnx", 64, "")
    by_check = {row["check"]: row for row in found["checks"]}
    assert list(by_check) == ["steps", "batch", "cache-end", "greedy"]
    assert by_check["steps"]["outcome"] == "passed"
    [speed] = found["speeds"]
    assert speed["context"] == 16
    assert speed["tokens_per_second"] > 0
    assert [len(row["step_seconds"]) for row in speed["samples"]] == [16] * 3
    page = Client().get(f"{PAGE}/checks").content.decode()
    for words in ('id="generation"', "Steps with the cache equal one pass", "16 tokens"):
        assert words in page
    assert "after 16 tokens, on one core" in Client().get(PAGE).content.decode()
    assert evidence.of_kind("generation").describe(version, version.pk) == "consistent"
    with pytest.raises(problems.NotFound):
        evidence.of_kind("generation").describe(version, version.pk + 1)


@pytest.mark.usefixtures("graphs")
def test_a_fault_is_named_with_its_token(api, ada, publish):
    version = publish(ada, decoders.optimum(fault="forgets"))
    [row] = [row for row in api().get(PLACE).json()["generation"]["checks"] if row["position"]]
    assert (row["check"], row["outcome"], row["position"]) == ("steps", "failed", 8)
    assert "First difference: token 8." in Client().get(f"{PAGE}/checks").content.decode()
    words = evidence.of_kind("generation").describe(version, version.pk)
    assert words == "not so: steps with the cache equal one pass"


@pytest.mark.usefixtures("graphs")
def test_a_hub_without_benchmarks_takes_no_times(api, ada, publish, settings):
    settings.HUB_BENCH = "off"
    publish(ada, decoders.optimum())
    job = Job.objects.get(kind=jobs.GENERATION)
    assert (job.pool, job.exclusive) == ("cpu", "none")
    found = api().get(PLACE).json()["generation"]
    assert (len(found["checks"]), found["speeds"]) == (4, [])
    assert "on one core</dd>" not in Client().get(PAGE).content.decode()


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize(
    "files", [packaged.genai(vocab_size=7), packaged.optimum()], ids=["broken", "encoder-decoder"]
)
def test_other_packages_are_not_measured(api, ada, publish, files):
    publish(ada, files)
    assert not Job.objects.filter(kind=jobs.GENERATION).exists()
    assert api().get(PLACE).json()["generation"] is None


@pytest.mark.usefixtures("graphs")
def test_private_generation_is_not_there_for_others(api, ada, bob, publish):
    publish(ada, decoders.optimum(), visibility="private")
    assert api(ada).get(PLACE).json()["generation"]["model"] == "onnx/model.onnx"
    for client in (api(), api(bob)):
        problem(client.get(PLACE), 404, "not-found")
    assert b"generation" not in Client().get(f"{PAGE}/checks").content


@pytest.mark.usefixtures("graphs")
def test_a_withdrawn_version_has_no_generation(ada, publish):
    version = publish(ada, decoders.optimum())
    assert VersionGeneration.objects.exists()
    versions.withdraw(ada, version=version, reason="legal")
    deliveries.deliver()
    assert not VersionGeneration.objects.exists()


def test_unreadable_results_are_left_out(ada):
    version = factories.version(ada, contents=packaged.genai())
    assert VersionGeneration(version=version, document={"model": 7}).generation is None
    job = Job(kind=jobs.GENERATION, version=version, report={"facts": {"generation": 7}})
    jobs.take_generation(job)
    assert not VersionGeneration.objects.exists()
    services.forget(version)


@pytest.mark.database
@pytest.mark.parametrize("column", [{"manifest_sha256": "no"}, {"tokens_per_second": 0}])
def test_the_database_knows_the_bounds(ada, column):
    version = factories.version(ada, contents=packaged.genai())
    columns = {"manifest_sha256": "0" * 64, "method": 1, "document": {}}
    with pytest.raises(IntegrityError), transaction.atomic():
        VersionGeneration.objects.create(version=version, **columns | column)


@pytest.mark.usefixtures("graphs")
def test_graphs_have_layout_components_findings_and_checks(ada, publish):
    files = decoders.genai() | {"other.onnx": packaged.passing("x", "y", [1])}
    publish(ada, files)
    deliveries.deliver()
    turtle = Client().get(PAGE, headers={"Accept": "text/turtle"}).content.decode()
    graph = rdflib.Graph().parse(data=turtle, format="turtle")

    def titles(kind):
        return {
            str(graph.value(graph.value(row, EARL.test), DCTERMS.title))
            for row in graph.subjects(rdflib.RDF.type, EARL.Assertion)
            if f"#{kind}-" in row
        }

    [version] = graph.subjects(predicate=None, object=rdflib.Literal("genai"))
    parts = set(graph.objects(version, DCTERMS.hasPart))
    assert {str(graph.value(row, DCTERMS.title)) for row in parts} == {"decoder", "tokenizer"}
    assert titles("finding") == {"file-unused"}
    assert titles("generation") == {kind.label for kind in CheckKind}
