"""Results of benchmarks as RDF: units, whose word, and the fastest model as the API has it."""

from __future__ import annotations

import json
from decimal import Decimal

import pyoxigraph
import pytest
from django.contrib.auth.models import AnonymousUser

from metadata.models import NamedGraph
from metadata.sparql import example_queries
from metadata.store import maintenance
from registry.models import RegisteredModel
from runners.benchmarks import contributions, rankings
from runners.engine.benchmark import power as power_of
from tests import factories, shared, timed

pytestmark = pytest.mark.django_db
HOME = "http://testserver"
GUEST = AnonymousUser()
MIB = 1 << 20


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def store():
    maintenance.refresh_catalogue()
    made = pyoxigraph.Store()
    for text in NamedGraph.objects.values_list("nquads", flat=True):
        made.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    return made


def ask(query):
    prefixes = """PREFIX dqv: <http://www.w3.org/ns/dqv#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX qudt: <http://qudt.org/schema/qudt/> PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX hub: <http://testserver/ns#> PREFIX dcat: <http://www.w3.org/ns/dcat#> """
    found = store().query(prefixes + query, use_default_graph_as_union=True)
    names = [variable.value for variable in found.variables]
    return [{name: row[name].value for name in names if row[name]} for row in found]


def test_a_result_is_told_with_units_sources_and_whose_word_it_is(version, bob):
    row = timed.benchmark(version, 1.5)
    sent = timed.contributed(version, bob, 1.0)
    timed.recomputed(contributions.contribute(bob, version=version, text=json.dumps(sent)))
    factories.work()
    figures = ask(
        """SELECT ?metric ?value ?unit ?by ?kind WHERE {
          ?result hub:comparabilityKey ?key ; hub:hasFigure ?figure .
          ?figure dqv:isMeasurementOf ?metric ; dqv:value ?value ; prov:wasAttributedTo ?by ;
                  hub:figureKind ?kind .
          ?metric qudt:hasUnit ?unit }"""
    )
    by_worker = [one for one in figures if one["by"] == f"{HOME}/agents/worker"]
    units = {one["metric"].rpartition("/")[2]: one["unit"] for one in by_worker}
    unit = "http://qudt.org/vocab/unit/"
    assert units == {
        "latency-p50": f"{unit}MilliSEC",
        "latency-p90": f"{unit}MilliSEC",
        "throughput": f"{unit}PER-SEC",
        "cpu-time": f"{unit}MilliSEC",
        "peak-memory": f"{unit}BYTE",
    }
    assert {one["kind"] for one in figures} == {"measured"}
    [median] = [one for one in by_worker if one["metric"].endswith("latency-p50")]
    assert Decimal(median["value"]) == Decimal(str(row.p50_ms))
    # What bob sent nobody has verified: no graph states it.
    assert {one["by"] for one in figures} == {f"{HOME}/agents/worker"}
    [made] = ask(
        """SELECT ?file ?environment ?record ?samples WHERE {
          ?result prov:wasGeneratedBy ?run ; dcterms:source ?record ; dcat:distribution ?samples .
          ?run prov:used ?file , ?environment .
          ?file dcat:byteSize ?size . FILTER(CONTAINS(STR(?environment), "/environments/")) }"""
    )
    assert made["file"].endswith("/files/model.onnx")
    assert made["environment"].endswith(row.environment_id)
    assert made["record"].endswith("record.json")
    assert made["samples"].endswith("samples.csv")


def test_an_environment_is_at_its_iri_while_it_is_public(client, version):
    row = timed.benchmark(version, deliver=False)
    place = f"/environments/{row.environment_id}"
    told = client.get(f"{place}.ttl").content.decode()
    assert "cpu_model: Example CPU" in told
    assert client.get(place).status_code == 200
    RegisteredModel.objects.update(visibility="private")
    assert client.get(place).status_code == 404
    assert client.get(f"/environments/{'0' * 64}").status_code == 404


def test_energy_and_carbon_say_how_they_were_come_by(version):
    power = timed.STATED
    grid = power_of.grid("FRA")
    row = timed.benchmark(version, 1.0, power=power, grid=grid)
    assert (row.energy_provenance, row.carbon_provenance) == ("estimated", "estimated")
    factories.work()
    kinds = ask(
        """SELECT ?metric ?kind ?value WHERE {
          ?figure dqv:isMeasurementOf ?metric ; hub:figureKind ?kind ; dqv:value ?value .
          FILTER(?kind != "measured") }"""
    )
    assert {(one["metric"].rpartition("/")[2], one["kind"]) for one in kinds} == {
        ("energy-per-inference", "estimated"),
        ("co2e-per-inference", "estimated"),
    }


def test_noise_is_marked_and_what_does_not_count_is_not_told(version):
    timed.benchmark(version, 1.0, spread=0.3)
    factories.work()
    assert [one["s"] for one in ask("SELECT ?s WHERE { ?r hub:resultStatus ?s }")] == ["noisy"]
    RegisteredModel.objects.update(visibility="private")
    maintenance.refresh_model(version.model_id, with_versions=True)
    assert ask("SELECT ?r WHERE { ?r hub:resultStatus ?s }") == []


@pytest.mark.usefixtures("lists")
def test_the_fastest_below_a_size_are_those_of_the_api(version, ada):
    timed.benchmark(version, 2.0)
    for number, median in enumerate((3.0, 1.0, 0.2)):
        other = factories.published(ada, factories.model(ada, f"net{number}"))
        row = timed.benchmark(other, median, spread=0.3 if number == 2 else 0.0)
        timed.benchmark(other, median / 2, config={"intra_op_threads": 2})
        timed.benchmark(other, median, environment={"cpu_model": "Another CPU"})
        timed.benchmark(other, median * 3, config={"scenario": "offline"})
    older = factories.published(ada, RegisteredModel.objects.get(name="net0"))
    assert older.number == 2  # its first version is no longer the one that counts
    factories.work()
    wanted = rankings.Selection(
        device="example-cpu-2-cores", scenario="single_stream", max_bytes=50_000_000
    )
    expected = [
        (one.row.comparability_key, one.row.variant.version.model.name)
        for one in rankings.across(GUEST, wanted, limit=100).items
    ]
    query = {one.slug: one for one in example_queries.all_of(HOME)}["fastest-under-a-size"].query
    found = store().query(
        query.replace("another-cpu-2-cores", "example-cpu-2-cores"),
        use_default_graph_as_union=True,
    )
    told = [(one["key"].value, one["model"].value.split("/")[-3]) for one in found]
    assert told == expected
    assert [name for _, name in expected].count("net1") == 2
    assert row.status == "noisy"
    assert "net0" not in {name for _, name in expected}
