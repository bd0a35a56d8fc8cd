"""The list by speed: its column, its choice of a device, its order, and the way there from home."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.catalogue import documents
from registry.models import DocumentFact
from tests import factories, proven, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
HERE = "device=example-cpu-2-cores&runtime=onnxruntime&provider=CPUExecutionProvider"
THERE = HERE.replace("example", "another")
OTHER = {"cpu_model": "Another CPU"}


def measured(version, p50, **more):
    row = timed.benchmark(version, p50, deliver=False, **more)
    documents.refresh(version.model_id)
    return row


def model_version(owner, name, **fields):
    return factories.version(owner, factories.model(owner, name, **fields))


@shared.rows
def start():
    """Fast, slow, noisy, measured elsewhere; a private one is faster, on a device of its own."""
    ada = factories.somebody("ada")
    made = [model_version(ada, name) for name in ("slow", "fast", "noisy", "elsewhere")]
    measured(made[0], 8.0)
    measured(made[1], 2.0)
    measured(made[2], 1.0, spread=0.3)
    measured(made[3], 1.0, environment=OTHER)
    measured(
        model_version(ada, "secret", visibility="private"), 0.5, environment={"cpu_model": "Hidden"}
    )
    for version in made[:2]:
        proven.conformance(version, [proven.measure("reference")])
        documents.refresh(version.model_id)
    return made


@pytest.fixture
def made(start, db):
    return shared.fresh(start)


def names(html):
    return re.findall(r"<b>([\w-]+)</b></a>", html)


def cells(html):
    inside = re.findall(r'<td role="cell" class="speed">(.*?)</td>', html, re.DOTALL)
    words = [re.sub(r"[ \n]+", " ", re.sub("<[^>]+>", "", cell)) for cell in inside]
    return [unescape(said).replace("p50 ", "").strip() for said in words]


def test_the_column_says_what_it_shows_and_leads_to_each_run(guest, made):
    html = guest.page("/models")
    head = "p50 measured on Example CPU, 2 cores, ONNX Runtime CPU"
    assert f'<a href="#on">{head}</a>' in html
    assert cells(html) == ["not measured", "0.897\u202fms noisy", "2\u202fms", "8\u202fms"]
    run = re.search(r'href="(/models/ada/fast/v/1/benchmarks/\d+)"', html)[1]
    assert "all samples" in guest.page(run).lower()


def test_another_device_is_chosen_without_scripts(guest, made):
    html = guest.page("/models")
    field = re.search(r'<select class="input" id="on" name="on">(.*?)</select>', html, re.DOTALL)[1]
    options = re.findall(r'<option value="([^"]*)"( selected)?>([^<]*)</option>', field)
    assert options == [
        ("", " selected", "Example CPU, 2 cores, ONNX Runtime CPU"),
        ("another-cpu-2-cores/onnxruntime/CPUExecutionProvider", "",
         "Another CPU, 2 cores, ONNX Runtime CPU"),
    ]  # fmt: skip
    answer = guest.get("/models", {"on": options[1][0], "sort": "updated"})
    assert (answer.status_code, answer["Location"]) == (302, f"/models?{THERE}")
    html = guest.page(answer["Location"])
    assert cells(html) == ["0.999\u202fms", "not measured", "not measured", "not measured"]
    assert 'value="example-cpu-2-cores/onnxruntime/CPUExecutionProvider">' in html


def test_the_order_is_complete_in_its_address_and_says_what_it_is(guest, made):
    answer = guest.get("/models?sort=fastest")
    assert answer["Location"] == f"/models?{HERE}&sort=fastest"
    html = guest.page(answer["Location"])
    assert names(html) == ["fast", "slow", "noisy", "elsewhere"]
    assert "on Example CPU, 2 cores with ONNX Runtime CPU first, each model with its own" in html
    assert 'href="/benchmarks?device=example-cpu-2-cores&amp;runtime=onnxruntime"' in html
    assert names(guest.page(f"/models?{THERE}&sort=fastest"))[0] == "elsewhere"
    narrowed = guest.get("/models?measured_on=another-cpu-2-cores&sort=fastest")["Location"]
    assert narrowed == f"/models?measured_on=another-cpu-2-cores&{THERE}&sort=fastest"


def test_what_nobody_measured_is_said(guest, made):
    strange = "/models?device=no-such&runtime=none&sort=fastest"
    html = guest.page(strange)
    assert set(cells(html)) == {"not measured"}
    assert "no-such, none" in html
    assert "No model in this list has an accepted result" in html
    assert "Fastest on no-such" not in html
    hidden = guest.page(f"/models?{HERE.replace('example-cpu', 'hidden')}&sort=fastest")
    assert "Hidden, 2 cores" not in hidden
    assert set(cells(hidden)) == {"not measured"}


def test_without_any_result_nothing_is_called_the_fastest(guest, ada, graphs):
    version = factories.version(ada, factories.model(ada, "plain"))
    html = guest.page("/models?sort=fastest")
    assert "No measurements yet" in html
    assert "Models are listed newest first" in html
    assert "Fastest (no measurements yet)" in html
    assert "Fastest models up to" not in guest.page("/")
    assert "Nothing is measured yet" in guest.page(f"/models/{version.model.ref}")


def test_home_calls_nothing_fast_that_is_only_noisy(guest, ada):
    version = factories.version(ada, factories.model(ada, "plain"))
    proven.conformance(version, [proven.measure("reference")])
    timed.benchmark(version, spread=0.3)
    factories.work()
    assert "Fastest models up to" not in guest.page("/")
    timed.benchmark(version)
    factories.work()
    assert "Fastest models up to" in guest.page("/")


def test_own_models_are_in_the_order_of_those_who_see_them(guest, reader, made):
    address = f"/models?{HERE.replace('example-cpu', 'hidden')}&sort=fastest"
    assert names(reader.page(address))[0] == "secret"
    assert "secret" not in guest.page(address)
    assert "Hidden" in reader.page("/models")
    assert "Hidden" not in guest.page("/models")


def test_small_models_are_a_filter_with_counts(guest, made):
    html = guest.page("/models?max_bytes=100000000&max_parameters=1000000")
    assert names(html) == ["elsewhere", "noisy", "fast", "slow"]
    found = re.findall(r'name="max_bytes" value="(\d+)"[^>]*><span>([^<]+)</span><small>(\d)', html)
    assert [(value, count) for value, _, count in found] == [
        (str(10**power), "4") for power in (6, 7, 8, 9)
    ]
    assert unescape(found[2][1]) == "100\u202fMB"
    assert "Remove filter Maximum size: 100\u202fMB" in html
    assert names(guest.page("/models?max_bytes=1")) == []
    assert guest.get("/models?max_bytes=many").status_code == 400


def test_from_home_to_the_fastest_small_model_that_passes(guest, made, graphs):
    home = guest.page("/")
    ways = home[home.index("that pass conformance:") :]
    link = unescape(re.search(r'<a class="btn" href="([^"]+)">ONNX Runtime CPU<', ways)[1])
    assert link == f"/models?passes_on=onnxruntime&max_bytes=100000000&{HERE}&sort=fastest"
    html = guest.page(link)
    assert names(html) == ["fast", "slow"]
    model = guest.page("/models/ada/fast")
    assert "hub get" in model
    assert "sha256" in model.lower()


def test_a_hub_without_measurements_promises_none(guest, ada):
    model_version(ada, "alone")
    assert "Fastest models up to" not in guest.page("/")
    html = guest.page("/models?sort=fastest")
    assert 'id="on"' not in html
    assert names(html) == ["alone"]


def test_a_page_asks_as_much_whatever_was_measured(guest, made, ada):
    def asked(path):
        guest.page(path)
        with CaptureQueriesContext(connection) as questions:
            guest.page(path)
        return len(questions)

    paths = ("/", "/models", f"/models?{HERE}&sort=fastest", f"/models?max_bytes=1000000&{HERE}")
    before = [asked(path) for path in paths]
    for index in range(3):
        measured(model_version(ada, f"more-{index}"), 3.0)
    assert [asked(path) for path in paths] == before


def outcomes(html):
    """By model: what its row says of each runtime that has a column."""
    rows = re.findall(r"<b>([\w-]+)</b></a>(.*?)</tr>", html, re.DOTALL)
    return {name: re.findall(r'<span title="([^"]+: [^"]+)">', row) for name, row in rows}


def test_each_row_says_on_which_runtimes_its_model_passes(guest, made):
    slow, fast, noisy = made[:3]
    DocumentFact.objects.create(document_id=slow.model_id, group="fails_on", value="onnxruntime")
    proven.conformance(noisy, [proven.measure("reference", outcome="failed")])
    documents.refresh(noisy.model_id)
    proven.conformance(fast, [proven.measure("reference", runtime="openvino")])
    documents.refresh(fast.model_id)
    stuck = ("does_not_run_on", "onnxruntime")
    DocumentFact.objects.create(document_id=made[3].model_id, group=stuck[0], value=stuck[1])
    html = guest.page("/models")
    said = outcomes(html)
    assert said["slow"] == ["ONNX Runtime: passes, but a variant fails", "OpenVINO: no verdict"]
    assert said["fast"] == ["ONNX Runtime: passes", "OpenVINO: passes"]
    assert said["noisy"] == ["ONNX Runtime: fails", "OpenVINO: no verdict"]
    assert said["elsewhere"] == ["ONNX Runtime: does not run", "OpenVINO: no verdict"]
