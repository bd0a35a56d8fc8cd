"""Models beside each other: what is shown, what is refused, and what stays hidden."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pyoxigraph
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.pages.compare import fact_rows
from frontend.parts.formatting import MINUS
from frontend.presenters import comparison, comparison_facts
from metadata.models import NamedGraph
from registry.versions.services import registered_models, versions
from runners.engine.benchmark import power
from tests import factories, proven, shared, shelf, timed

pytestmark = pytest.mark.django_db
CONV = {
    "parameters": 3_000_000,
    "opset": 20,
    "operators": [{"domain": "ai.onnx", "name": "Conv", "count": 3}],
    "barcode": {"categories": ["conv"], "cells": [0, 0, 0], "nodes": 3},
    "nodes": {"total": 3},
    "inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 3, 64, 64]}],
}


@shared.rows
def start():
    """One model that tells much, and one that tells little."""
    ada = factories.somebody("ada")
    one = shelf.publish(
        ada, "one", CONV, license="mit", co2_eq_emissions=1500, datasets="[digits, '=1+1']"
    )
    two = shelf.publish(ada, "two", license="mit", co2_eq_emissions=500)
    proven.conformance(one, [proven.measure("reference"), proven.measure("determinism", "failed")])
    proven.convert(one, b"tiny")
    return one, two


@pytest.fixture
def pair(start, db):
    return shared.fresh(start)


def row(html, title):
    """The cells of a row that differs, as text."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    cells = next(found for found in rows if f'<th scope="row">{title}<' in found)
    return [
        " ".join(re.sub(r"<[^>]+>", " ", cell).split())
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells, re.DOTALL)
    ]


def test_costs_of_a_run_are_compared_also_with_nothing(guest, pair):
    for version, macs in zip(pair, (4_000_000, 0), strict=True):
        version.variants.filter(name="default").update(macs=macs, memory_bytes=None)
    html = guest.page("/compare?m=ada/one&m=ada/two")
    assert row(html, "Operations of a run (MACs)") == ["4 M", f"0 {MINUS}100 %"]
    pair[1].variants.filter(name="default").update(memory_bytes=2000)
    html = guest.page("/compare?m=ada/one&m=ada/two")
    assert row(html, "Weights and activations") == ["not counted", "2 kB"]


def test_the_table(guest, pair):
    html = guest.page("/compare?m=ada/one&m=ada/two")
    assert row(html, "Carbon of training") == ["1.5 kg CO₂e", f"500 g CO₂e {MINUS}67 %"]
    assert row(html, "Parameters") == ["3 M", "12"]
    assert row(html, "Opset") == ["20", "17"]
    assert row(html, "Inputs") == ["x: float32[N, 3, 64, 64]", "none"]
    assert row(html, "Conformance, ONNX Runtime") == ["1 of 2 pass, 1 fails", "not run"]
    assert row(html, "Training data") == ["digits, =1+1", "not declared"]
    assert row(html, "Ops") == ["Convolution 3", "MatMul, Gemm 1, Activation 1"]
    equal = html.partition("<details")[2]
    assert re.search(r"Show \d+ equal rows", html)
    for title in ("Licence", "Precision"):
        assert f"<dt>{title} " in equal
    # What decides is never folded, and comes first.
    titles = re.findall(r'<th scope="row">([^<]*)<', html)
    assert titles[:3] == ["Accuracy", "Latency, p50", "Conformance, ONNX Runtime"]
    assert row(html, "Latency, p50") == ["not measured", "not measured"]
    assert 'class="best"' in html
    assert html.count('class="barcode"') == 2


def test_best_and_difference():
    def ranked(*values):
        cells = [comparison_facts.Fact(str(value), value) for value in values]
        return [(cell.best, cell.difference) for cell in fact_rows._ranked(cells, "less")]

    plain = "\u202f%"
    assert ranked(10.0, 5.0, 12.4) == [
        (False, ""),
        (True, f"{MINUS}50{plain}"),
        (False, f"+24{plain}"),
    ]
    assert ranked(10.0, 200.0) == [(True, ""), (False, "\u00d7\u202f20")]
    assert ranked(1000.0, 1001.0)[1] == (False, f"+0.1{plain}")
    assert ranked(None, 5.0, 4.0) == [(False, ""), (False, ""), (True, "")]
    assert ranked(5.0, 5.0) == [(False, ""), (False, "")]
    assert ranked(5.0, None) == [(False, ""), (False, "")]
    assert ranked(0.0, 5.0) == [(True, ""), (False, "")]


def test_variants_and_versions(guest, ada, pair):
    one, _ = pair
    shelf.again(ada, one.model, license="apache-2.0")
    html = guest.page("/compare?m=ada/one@1:int8&m=ada/one@1&m=ada/one")
    assert row(html, "Precision") == ["int8", "fp32", "fp32"]
    assert row(html, "Largest difference from source") == ["0.031", "original", "original"]
    assert row(html, "Same top-1 result as source")[0] == "99.6 %"
    assert row(html, "Model and weights")[0] == "4 B"
    assert row(html, "Licence") == ["MIT", "MIT", "Apache-2.0"]
    assert "/compare?m=ada/one@1:int8&amp;m=ada/one@1&amp;m=ada/one@2" in html  # for ever


def test_energy_and_carbon_say_how_they_are_known(guest, pair, graphs, lists):
    """An estimate is never printed as measured, on the page or in the file."""
    for version, told in zip(pair, (timed.STATED, timed.DECLARED), strict=True):
        timed.benchmark(version, deliver=False, power=told, grid=power.grid("FRA"))
    html = guest.page("/compare?m=ada/one&m=ada/two")
    estimated, declared = row(html, "Energy of 1 000 inferences")
    assert (estimated.split()[-1], declared) == ("estimated", "250 J declared")
    assert "Energy of 1 000 inferences<small>measured" not in html
    carbon = row(html, "Carbon of 1 000 inferences")
    assert [cell.split()[-1] for cell in carbon] == ["estimated", "declared"]
    text = guest.get("/compare.csv?m=ada/one&m=ada/two").content.decode()
    found = {line[0]: line for line in csv.reader(io.StringIO(text))}
    assert [cell.rpartition(", ")[2] for cell in found["Energy of 1 000 inferences"][2:]] == [
        "estimated",
        "declared",
    ]
    latency = guest.page("/models/ada/one").partition('id="latency"')[2].partition("</section>")[0]
    assert 'J</span> <span class="tag part">estimated</span>' in latency
    assert '<span class="tag pass">measured</span>' in latency


def test_neighbours_of_one_model_lead_to_the_difference_of_their_graphs(guest, ada, pair):
    one, _ = pair
    shelf.again(ada, one.model, license="mit")
    html = guest.page("/compare?m=ada/one@1&m=ada/one@1:int8&m=ada/one@2&m=ada/two")
    assert 'href="/models/ada/one/v/1/graph/diff/1?variant=int8&amp;with=default"' in html
    assert 'href="/models/ada/one/v/2/graph/diff/1?with=int8"' in html
    assert html.count("Graphs of ") == 2


def test_the_address_is_the_state(guest, pair):
    asked = guest.get("/compare?m=&m=ada%2Fone&m=ada/two&m=ada/one")
    assert asked.status_code == 302
    assert asked["Location"] == "/compare?m=ada/one&m=ada/two"
    html = guest.page("/compare?m=ada/one&m=ada/two")
    assert 'href="/compare?m=ada/two&amp;m=ada/one" aria-label="Move ada/one to the right"' in html
    assert 'href="/compare?m=ada/two" aria-label="Remove ada/one"' in html
    assert html.count("to the left") == html.count("to the right") == 1
    alone = guest.page("/compare?m=ada/two")
    assert "Add another model to compare" in alone
    assert "equal row" not in alone
    assert guest.get("/compare?m=resnet50")["Location"] == "/compare?m=zoo/resnet50"
    assert "No models selected" in guest.page("/compare")


def test_columns_move():
    order = ["a", "b", "c"]
    assert comparison.moved(order, "a", 1) == ["b", "a", "c"]
    assert comparison.moved(order, "c", -1) == ["a", "c", "b"]
    assert comparison.moved(order, "a", -1) == order
    assert comparison.moved(order, "c", 1) == order


def test_what_is_wrong_is_told_by_name(guest, ada, pair):
    gone = shelf.publish(ada, "gone", license="mit")
    versions.withdraw(ada, version=gone, reason="It was wrong.")
    wrong = ("ada/none", "a//b", "ada/one@7", "ada/one:fp16", "ada/gone@1", "%3Cscript%3E")
    asked = comparison.address(
        comparison.read(["ada/one", "ada/two", *wrong[:4], "ada/gone@1"][:6])
    )
    html = guest.page(asked)
    for ref in ("ada/none", "a//b", "ada/one@7", "ada/one:fp16"):
        assert f"<b>{ref} was not added.</b>" in html
    assert "Available: default, int8" in html
    assert "was withdrawn" in guest.page("/compare?m=ada/one&m=ada/gone@1")
    guest.page("/compare?m=ada/none", 404)
    assert "<script>" not in guest.page(comparison.address(["<script>alert(1)</script>"]), 404)


def test_six_at_most(guest, ada, pair):
    names = [shelf.publish(ada, f"more{index}", license="mit").ref for index in range(6)]
    html = guest.page(comparison.address([*names, "ada/one"]))
    assert "<b>ada/one was not added.</b> You can compare up to 6 models." in html
    assert 'id="add"' not in html
    assert html.count('<th scope="col">') == 7


@pytest.mark.capability("sparql")
def test_the_hidden_and_the_absent_are_one(guest, reader, bob, ada, pair):
    shelf.publish(ada, "secret", license="mit", visibility="private")
    hidden = guest.page("/compare?m=ada/one&m=ada/secret")
    absent = guest.page("/compare?m=ada/one&m=ada/absent")
    assert hidden.replace("secret", "absent") == absent
    hidden = guest.page("/compare?m=ada/secret", 404)
    absent = guest.page("/compare?m=ada/absent", 404)
    assert hidden.replace("secret", "absent") == absent
    assert guest.get("/compare.csv?m=ada/secret").status_code == 404
    own = reader.page("/compare?m=ada/one&m=ada/secret")
    assert "was not added" not in own
    assert "1 of these models are not in the public graphs." in own
    # Asked of what is hidden, the database answers as many questions as of what is not there.
    counts = []
    for name in ("secret", "absent"):
        with CaptureQueriesContext(connection) as asked:
            guest.get(f"/compare?m=ada/{name}")
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_former_name_leads_on(guest, ada, pair):
    one, _ = pair
    registered_models.move(ada, model=one.model, namespace=one.model.namespace, name="renamed")
    assert "<b>renamed</b>" in guest.page("/compare?m=ada/one&m=ada/two")


def test_csv(guest, pair):
    answer = guest.get("/compare.csv?m=ada/one&m=ada/two")
    assert answer["Content-Type"].startswith("text/csv")
    rows = {line[0]: line[1:] for line in csv.reader(io.StringIO(answer.content.decode()))}
    assert rows["fact"] == ["kind", "ada/one@1", "ada/two@1"]
    assert rows["Parameters"] == ["from the file", "3000000", "12"]
    assert rows["Carbon of training"] == ["declared", "1.5", "0.5"]
    assert rows["Latency, p50"] == ["measured", "not measured", "not measured"]
    assert rows["Inputs"][1] == "x: float32[N, 3, 64, 64]"


def test_csv_runs_nothing():
    for text in ("=1+1", "+1", "-1", "@x", "\t=1"):
        assert fact_rows._plain(comparison_facts.Fact(text)) == f"'{text}"


@pytest.mark.capability("sparql")
def test_the_table_as_sparql_gives_its_facts(guest, pair, graphs):
    noisy = timed.benchmark(pair[1], 1.0, spread=0.3)
    html = guest.page("/compare?m=ada/one@1:int8&m=ada/two")
    link = re.search(r'href="(/query\?query=[^"]+)"', html)
    query = parse_qs(urlsplit(link[1].replace("&amp;", "&")).query)["query"][0]
    graphs = pyoxigraph.Store()
    for text in NamedGraph.objects.values_list("nquads", flat=True):
        graphs.load(text.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    found = {
        (one["reference"].value, one["fact"].value): one["value"].value
        for one in graphs.query(query, use_default_graph_as_union=True)
    }
    assert found["ada/one@1:int8", "precision"] == "int8"
    assert found["ada/one@1:int8", "bytes of the ONNX file"] == "4"
    assert found["ada/two@1", "precision"] == "fp32"
    assert found["ada/two@1", "opset"] == "17"
    assert found["ada/two@1", "licence"].endswith("/MIT")
    assert found["ada/two@1", "training carbon, kg CO2e"] == "0.5"
    assert float(found["ada/two@1", "latency-p50, measured, noisy"]) == noisy.p50_ms
    assert ("ada/one@1", "precision") not in found


def test_questions_depend_on_the_columns_alone(guest, ada, pair):
    def asked(address):
        guest.page(address)
        with CaptureQueriesContext(connection) as found:
            guest.page(address)
        return len(found)

    one, _ = pair
    before = asked("/compare?m=ada/one&m=ada/two")
    for runtime in ("onnxruntime", "openvino"):
        measures = [proven.measure(check, runtime=runtime) for check in ("bundled", "reference")]
        proven.conformance(one, measures, runtime)
    proven.convert(one, b"half", recipe="fp16", precision="fp16")
    assert asked("/compare?m=ada/one&m=ada/two") == before <= 20
    six = [shelf.publish(ada, f"more{index}", license="mit").ref for index in range(6)]
    assert asked(comparison.address(six)) <= 10 + 6 * 5


def speeds(html):
    """The cells of the row of latencies, as they are written."""
    found = re.search(r'<tr><th scope="row">Latency, p50<.*?</tr>', html, re.DOTALL)
    return re.findall(r"<td[^>]*>(.*?)</td>", found[0], re.DOTALL)


def grid(cell):
    """Where the marks of a strip's axis stand."""
    return re.search(r'<path class="grid" d="([^"]*)"', cell)[1]


def test_latencies_of_one_key_have_strips_on_one_axis(guest, pair):
    for version, median in zip(pair, (2.0, 31.0), strict=True):
        timed.benchmark(version, median, deliver=False)
    html = guest.page("/compare?m=ada/one&m=ada/two")
    texts = speeds(html)
    chart = html.partition('id="chart-latency"')[2].partition("</section>")[0]
    one, two = re.findall(r'<div class="drawn">.*?</div>', chart, re.DOTALL)
    assert (one.count('class="strip '), two.count('class="strip ')) == (1, 1)
    assert grid(one) == grid(two)
    low, high = (int(re.search(r'class="median" d="M(\d+)', cell)[1]) for cell in (one, two))
    assert low < high
    # The words say it, too, and readers that speak hear nothing else.
    assert re.search(r">95\u202f%: [\d.]+\u202fms to [\d.]+\u202fms</small>", texts[0])
    assert one.count("<svg") == one.count('aria-hidden="true"') == 1


def test_a_latency_of_another_key_has_no_strip(guest, pair):
    one, two = pair
    timed.benchmark(one, 2.0, deliver=False)
    timed.benchmark(two, 3.0, environment={"cpu_model": "Another CPU"}, deliver=False)
    cells = speeds(guest.page("/compare?m=ada/one&m=ada/two"))
    assert not any("strip" in cell for cell in cells)
    assert all("not comparable" in cell for cell in cells)


def test_the_only_accepted_latency_says_so(guest, pair):
    timed.benchmark(pair[0], 2.0, deliver=False)
    one, two = speeds(guest.page("/compare?m=ada/one&m=ada/two"))
    assert "the only accepted result" in one
    assert "not measured" in two
