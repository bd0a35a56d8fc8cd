"""Pages of benchmarks: groups that may be compared, one result, and what goes across models."""

from __future__ import annotations

import re

import pytest

from frontend.pages.benchmarks import run, run_facts, views
from frontend.parts import formatting
from frontend.parts.svg import charts, latency_strips
from frontend.presenters import figures, measurements
from hub.protocol.benchmark_metrics import ENERGY
from hub.protocol.cards import Card
from metadata.graphs import evaluations
from registry.models import Version
from runners.benchmarks import rankings, selectors, timelines
from runners.engine.benchmark.typed_record import Process
from runners.models import Comparison, Job, Measurement
from runners.queue import services
from tests import factories, proven, shared, timed
from tests.unit.runners.benchmarks.test_benchmarks import OFFERED

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
PAGE = "/models/ada/net/v/1"
TAB = f"{PAGE}/benchmarks"
OTHER = {"cpu_model": "Another CPU"}


@shared.rows
def start():
    ada = factories.somebody("ada")
    version = factories.published(ada)
    timed.benchmark(version, 2.0)
    timed.benchmark(version, 1.5, spread=0.2, config={"batch": 4})
    timed.benchmark(version, 1.0, environment=OTHER)
    return version


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def rows(version):
    """Results by their median."""
    return {row.p50_ms: row for row in Measurement.objects.all()}


def test_results_stand_in_groups_and_noisy_ones_have_no_place(guest, version):
    page = guest.page(TAB)
    groups = page.split('class="group"')[1:]
    assert len(groups) == 3
    noisy = next(group for group in groups if "batch 4" in group)
    assert "Without ranks" in noisy
    assert 'class="grey"' in noisy
    assert 'data-word="Rank"><span class="muted">none<' in noisy
    assert "the processes differ by 31.62\u202f%, more than the limit" in noisy
    firm = next(group for group in groups if "Example CPU, 2 cores" in group and group != noisy)
    assert re.search(r'data-word="Rank">1<', firm)
    assert "the fastest is 0.999\u202fms on Another CPU, 2 cores" in page
    assert "too few samples" in firm  # a p95 takes 130
    assert "J / 1 000" not in firm  # no meter
    assert page.count('class="strip ') == 3


def test_filters_narrow_and_empty_ones_leave_the_address(guest, version):
    page = guest.page(f"{TAB}?batch=4")
    assert page.count('class="group"') == 1
    answer = guest.get(f"{TAB}?batch=4&device=&runtime=")
    assert (answer.status_code, answer["Location"]) == (302, f"{TAB}?batch=4")
    assert "No results match these filters." in guest.page(f"{TAB}?precision=int8")


def test_nothing_measured_is_said_in_words(guest, version, graphs):
    Measurement.objects.all().delete()
    assert "<b>Not measured.</b>" in guest.page(TAB)
    assert "hub bench ada/net@1" in guest.page(TAB)
    assert "No ranked results yet" in guest.page("/benchmarks")
    assert " at p50 on " not in guest.page(PAGE)


def test_one_result_shows_every_sample_and_says_what_is_withheld(guest, rows):
    page = guest.page(_first(rows))
    assert "Of all 100 samples the median is" in page
    assert page.count("<polyline") == 1
    assert "needs 662 samples" in page
    assert "not published" in page
    assert "hub bench ada/net@1:default" in page
    assert "not measured" in page
    assert 'href="/api/v1/models/ada/net/versions/1/benchmarks/' in page
    assert "Example CPU" in page
    assert "Gemm" in page


def _first(rows):
    row = next(row for row in rows.values() if row.batch == 1 and row.p50_ms > 1.5)
    return f"{TAB}/{row.pk}"


def test_a_range_of_samples_is_an_address(guest, rows):
    place = _first(rows)
    part = guest.page(f"{place}?from=20&to=60")
    assert "Of samples 21 to 60 the median is" in part
    for first, last in ((30, 50), (0, 80), (0, 20), (60, 100)):
        assert f'href="?from={first}&amp;to={last}#samples"' in part
    for odd in ("?from=99&to=3", "?from=x&to=-1", "?to=9999999"):
        assert "samples the median" in re.sub(r" \d+ to \d+", "", guest.page(place + odd))


def test_what_is_private_is_nowhere(guest, version):
    model = version.model
    pk = Measurement.objects.first().pk
    model.visibility = "private"
    model.save(update_fields=["visibility"])
    for place in (TAB, f"{TAB}/{pk}"):
        assert guest.get(place).status_code == 404
    assert guest.get("/runtimes/onnxruntime").status_code == 404
    assert guest.get("/devices/example-cpu-2-cores").status_code == 404
    assert "Example CPU" not in guest.page("/benchmarks")
    assert "Example CPU" not in guest.page("/")


def test_noisy_results_stand_apart_and_only_where_nothing_is_firmer(guest, ada, version):
    page = guest.page("/benchmarks").partition('id="noisy"')[2]
    assert page.count('<tr class="grey">') == 1
    assert "ada/net@1" in page
    timed.benchmark(version, 1.5, config={"batch": 4})
    assert 'id="noisy"' not in guest.page("/benchmarks")
    secret = factories.published(ada, factories.model(ada, "secret", visibility="private"))
    timed.benchmark(secret, 1.5, spread=0.2)
    assert "secret" not in guest.page("/benchmarks")


def test_across_models_one_key_at_a_time(guest, version):
    page = guest.page("/benchmarks")
    assert page.count("<tr data-item>") == 1
    assert "Other comparability keys" in page
    key = Measurement.objects.get(device="another-cpu-2-cores").comparability_key
    key_page = guest.page(f"/benchmarks?key={key}")
    assert "Another CPU, 2 cores, ONNX Runtime 1.31.1" in key_page
    assert "0.999\u202fms" in key_page
    assert guest.get("/benchmarks?task=&sort=p50").status_code == 302
    assert "match these filters" in guest.page("/benchmarks?max_bytes=1")
    assert guest.get("/benchmarks?sort=beauty").status_code == 400


def test_the_key_with_most_results_is_listed_whole_page_by_page(guest, ada, monkeypatch):
    """Its rows come after those of another key, and after the first page of all rows."""
    versions = [factories.version(ada, factories.model(ada, f"m{number}")) for number in range(3)]
    places = {
        timed.benchmark(versions[0], environment=place, deliver=False).comparability_key: place
        for place in ({}, OTHER)
    }
    last = max(places)
    for number in (1, 2):
        timed.benchmark(versions[number], 1.0 + number, environment=places[last], deliver=False)
    monkeypatch.setattr(views, "PAGE", 2)
    page = guest.page("/benchmarks")
    assert re.findall(r'<tr data-item><td class="num">(\d+)<', page) == ["1", "2"]
    following = re.search(r'href="(\?[^"]*cursor=[^"]*)"', page)[1].replace("&amp;", "&")
    assert f"key={last}" in following
    rest = guest.page(f"/benchmarks{following}")
    assert re.findall(r'<tr data-item><td class="num">(\d+)<', rest) == ["3"]
    assert "ada/m2@1" in rest
    assert "Other comparability keys" in rest
    monkeypatch.setattr(rankings, "CANDIDATES", 2)
    assert "Showing the best 2." in guest.page("/benchmarks")


def declaring(owner, name, value, *, metric="accuracy", dataset="digits", median=2.0):
    """A timed version of a model whose card reports a share."""
    card = f"""---
license: mit
model-index:
- name: net
  results:
  - task: {{type: image-classification}}
    dataset: {{type: "{dataset}", name: "{dataset}", split: test}}
    metrics: [{{type: {metric}, value: {value}}}]
---
# A net
"""
    version = factories.version(owner, factories.model(owner, name), card=card)
    timed.benchmark(version, median, deliver=False)
    return version


def quality_of(page):
    """The panel of quality in words, and the rows of its table: reference, value, frontier."""
    panel = page.partition('aria-labelledby="quality"')[2].partition("</section>")[0]
    found = re.findall(r"<tr data-item>.*?</tr>", panel, re.DOTALL)
    rows = [
        (
            re.search(r">([^<>]+@\d+)</a>", row)[1],
            re.search(r'<td class="num">([^<]+)</td>', row)[1],
            "frontier" in row,
        )
        for row in found
    ]
    return panel, rows


def test_declared_quality_stands_against_measured_latency(guest, ada):
    declaring(ada, "net", 0.91)
    declaring(ada, "slow", 97.5, median=8.0)  # in per cent
    declaring(ada, "worse", 0.9, median=9.0)
    declaring(ada, "other", 0.99, median=3.0, dataset="letters")
    panel, found = quality_of(guest.page("/benchmarks"))
    assert found == [
        ("ada/net@1", "91\u202f%", True),
        ("ada/slow@1", "97.5\u202f%", True),
        ("ada/worse@1", "90\u202f%", False),
    ]
    assert "Accuracy on digits, test" in panel
    assert panel.count('<svg class="chart"') == 1
    url = re.search(r'href="([^"]*quality=[^"]*letters[^"]*)"', panel)[1].replace("&amp;", "&")
    _, found = quality_of(guest.page(f"/benchmarks{url}"))
    assert found == [("ada/other@1", "99\u202f%", False)]


@pytest.mark.parametrize("claim", [{"metric": "loss"}, {"dataset": ""}])
def test_what_is_no_share_on_named_data_is_no_quality(guest, ada, claim):
    for name in ("net", "second"):
        declaring(ada, name, 0.9, **claim)
    assert quality_of(guest.page("/benchmarks"))[1] == []


@pytest.mark.parametrize("value", [140, -1, "nan", None, True])
def test_old_cards_may_say_what_is_no_share(value):
    result = {"dataset": {"type": "digits"}, "metrics": [{"type": "accuracy", "value": value}]}
    assert list(evaluations.reported(Card.read({"model-index": [{"results": [result]}]}))) == []


def test_a_card_says_nothing_of_precisions_that_were_made(guest, ada):
    both = [declaring(ada, name, 0.9) for name in ("net", "second")]
    assert len(quality_of(guest.page("/benchmarks"))[1]) == 2
    Measurement.objects.all().delete()
    for version in both:
        made = proven.convert(version, b"other bytes")
        timed.benchmark(version, 2.0, variant=made.name, deliver=False)
    page = guest.page("/benchmarks")
    assert "ada/net@1" in page
    assert quality_of(page)[1] == []


def test_a_device_and_a_runtime_have_pages(guest, version):
    for place in ("/devices/another-cpu-2-cores", "/runtimes/onnxruntime"):
        page = guest.page(place)
        assert "ada/net@1:default" in page
        assert "Another CPU" in page
    assert guest.get("/devices/none-such").status_code == 404
    assert guest.get("/runtimes/none-such").status_code == 404


def test_a_list_that_is_cut_says_so(guest, version, monkeypatch):
    timed.benchmark(version, 4.0, config={"batch": 8})
    said = "not shown."
    for place in ("/devices/example-cpu-2-cores", "/runtimes/onnxruntime"):
        assert said not in guest.page(place)
    assert "not shown. Add filters" not in guest.page(TAB)
    monkeypatch.setattr(timelines, "MOST", 2)
    monkeypatch.setattr(selectors, "RESULTS", 2)
    assert "1 more result not shown." in guest.page("/devices/example-cpu-2-cores")
    assert "2 more results not shown." in guest.page("/runtimes/onnxruntime")
    assert "2 more results not shown. Add filters" in guest.page(TAB)


def test_maintainers_alone_may_run_again(guest, reader, version):
    assert "Run again" not in guest.page(TAB)
    assert guest.post(f"{TAB}/again", {"variant": "default"}).status_code in (302, 401, 403)
    assert "Run again" in reader.page(TAB)
    answer = reader.post(f"{TAB}/again", {"variant": "default"}, HTTP_ACCEPT="text/html")
    assert b"No worker of this hub can run this benchmark" in answer.content


def test_a_run_is_asked_for_with_a_load_and_sizes(reader, version):
    port = {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 4]}
    variant = version.variants.get()
    variant.facts |= {"inputs": [port]}
    variant.save(update_fields=["facts"])
    page = reader.page(TAB)
    assert "Run with options" in page
    assert 'name="size:N"' in page
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED)
    sent = {
        "variant": "default", "scenario": "server", "concurrency": "3", "latency_bound_ms": "12.5",
        "bound_percentile": "p90", "size:N": "4", "batch": "", "threads": "",
    }  # fmt: skip
    assert reader.post(f"{TAB}/again", sent).status_code == 302
    [job] = Job.objects.filter(kind="benchmark", state=Job.State.QUEUED)
    wanted = {"scenario": "server", "concurrency": 3, "latency_bound_ms": 12.5,
              "bound_percentile": "p90", "shapes": {"N": 4}}  # fmt: skip
    assert wanted.items() <= job.input.items()
    assert "batch" not in job.input
    answer = reader.post(f"{TAB}/again", {**sent, "batch": "four"}, HTTP_ACCEPT="text/html")
    assert b"batch must be a whole number" in answer.content
    answer = reader.post(f"{TAB}/again", {**sent, "size:Q": "4"}, HTTP_ACCEPT="text/html")
    assert b"no dynamic dimension named" in answer.content


def test_a_run_is_asked_for_with_whole_shapes_and_provider_options(reader, version):
    ports = [
        {"name": "x", "type": "tensor", "dtype": "float32", "shape": ["N", 3, None]},
        {"name": "fixed", "type": "tensor", "dtype": "float32", "shape": [1, 4]},
    ]
    variant = version.variants.get()
    variant.facts |= {"inputs": ports}
    variant.save(update_fields=["facts"])
    assert 'name="provider_options"' not in reader.page(TAB)  # no worker offers any
    services.see("w1", host="h1", pool="bench-cpu", features=OFFERED)
    page = reader.page(TAB)
    assert re.search(r'name="shape:x"[^>]*placeholder="Nx3x\?"', page)
    assert 'name="shape:fixed"' not in page
    assert "enable_cpu_mem_arena, enable_mem_pattern, set_denormal_as_zero" in page
    setup = "onnxruntime/CPUExecutionProvider"
    assert f'<option value="{setup}">' in page
    sent = {
        "variant": "default", "scenario": "single_stream", "bound_percentile": "p99",
        "shape:x": "2x3x8", "setup": setup,
        "provider_options": "enable_mem_pattern=false\r\nenable_cpu_mem_arena = true\r\n",
    }  # fmt: skip
    assert reader.post(f"{TAB}/again", sent).status_code == 302
    [job] = Job.objects.filter(kind="benchmark", state=Job.State.QUEUED)
    wanted = {"input_shapes": {"x": [2, 3, 8]}, "provider": "CPUExecutionProvider",
              "provider_options": {"enable_mem_pattern": "false",
                                   "enable_cpu_mem_arena": "true"}}  # fmt: skip
    assert wanted.items() <= job.input.items()
    for change, words in (
        ({"shape:x": "2x3xlarge"}, b"such as 1x3x640x640; not"),
        ({"shape:x": "2x4x8"}, b"contradicts the input x"),
        ({"provider_options": "enable_mem_pattern"}, b"Write one option per line as name=value"),
        ({"provider_options": "mem_pattern=1"}, b"Did you mean enable_mem_pattern"),
        ({"setup": ""}, b"Choose the runtime and provider that the options are of."),
    ):
        answer = reader.post(f"{TAB}/again", sent | change, HTTP_ACCEPT="text/html")
        assert answer.status_code == 400, change
        assert words in answer.content
    assert Job.objects.filter(kind="benchmark", state=Job.State.QUEUED).count() == 1


def test_a_result_tells_its_bound_the_rates_tried_and_the_command(guest, version):
    trial = {"rate_per_s": 100.0, "samples": 100, "over_bound": 0, "unserved": 0,
             "estimate_ms": 1.5, "processes": 1}  # fmt: skip
    above = trial | {"rate_per_s": 110.0, "over_bound": 90, "estimate_ms": 70.0}
    bound = {"latency_ms": 50.0, "percentile": "p50", "rate": "search", "rule": "",
             "trials": [trial, above]}  # fmt: skip
    config = {"scenario": "server", "rate_per_s": 100.0, "concurrency": 2, "bound": bound}
    row = timed.benchmark(version, 1.0, config=config, method="6")
    assert "2 in flight, latency bound 50\u202fms" in guest.page(TAB)
    page = guest.page(f"{TAB}/{row.pk}")
    assert "Throughput with p50 within 50 ms" in page
    assert "At 110 arrivals per second" in page
    assert "p50 estimate 70\u202fms" in page
    assert "--scenario server --concurrency 2 --latency-bound 50 --percentile p50" in page


def test_a_result_on_a_gpu_tells_the_memory_there(guest, version):
    on_gpu = timed.processes(1.0)
    for one, mebibytes in zip(on_gpu, (670, 672, 670, 671, 670), strict=True):
        one["peak_device_bytes"] = mebibytes << 20
    row = timed.benchmark(version, 1.0, processes=on_gpu)
    page = guest.page(f"{TAB}/{row.pk}")
    assert "GPU memory" in page
    assert formatting.size(672 << 20) in page
    assert "GPU memory" not in guest.page(f"{TAB}/{timed.benchmark(version, 2.0).pk}")


def test_a_result_tells_the_batches_that_were_tried(guest, version):
    tried = [{"batch": size, "inferences": 100, "wall_s": wall, "peak_rss_bytes": 10**8}
             for size, wall in ((1, 1.0), (2, 1.0), (4, 3.0))]  # fmt: skip
    batches = {"choice": "highest throughput", "most": 4, "ended": "maximum", "reason": "",
               "tried": tried, "inputs_of_one": []}  # fmt: skip
    config = {"scenario": "offline", "batch": 2, "batches": batches}
    row = timed.benchmark(version, 1.0, config=config, method="6")
    page = guest.page(f"{TAB}/{row.pk}")
    assert "Throughput of batch 4" in page
    assert "--scenario offline --most-batch 4" in page
    assert "Ranked by throughput" in guest.page(TAB)


def test_the_overview_and_home_show_what_was_measured(guest, version, graphs):
    overview = guest.page(PAGE)
    assert "at p50 on Another CPU, 2 cores" in overview
    assert 'class="strip ' in overview
    home = guest.page("/")
    assert "<b>Latency.</b>" in home
    assert "0.999\u202fms" in guest.page("/models")


def test_versions_say_whether_they_are_slower(guest, version):
    later = factories.published(version.created_by, version.model)
    row = timed.benchmark(later, 3.0)
    before, after = (Version.objects.get(pk=one.pk).variants.get() for one in (version, later))
    made = {
        "job": row.job, "baseline": before, "candidate": after,
        "baseline_sha256": before.entry.blob_id, "candidate_sha256": after.entry.blob_id,
        "environment": row.environment, "device": row.device, "device_title": row.device_title,
        "runtime": "onnxruntime", "runtime_version": "1.31.1",
    }  # fmt: skip
    Comparison.objects.create(
        **made, verdict="slower", ratio=1.5, ratio_low=1.4, ratio_high=1.6, cpu_ratio=1.5,
        reason="baseline-noisy, candidate-noisy, by-cpu-time",
    )  # fmt: skip
    versions = guest.page("/models/ada/net/versions")
    assert "slower than version 1" in versions
    tab = guest.page("/models/ada/net/v/2/benchmarks")
    assert "1.5 times (99\u202f%: 1.4 to 1.6)" in tab
    assert "the result of this version is noisy; judged by CPU time" in tab
    assert "Latency by version" in tab


def test_questions_do_not_grow_with_results(guest, version, django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as few:
        guest.page(TAB)
    for batch in (8, 16, 32):
        timed.benchmark(version, 2.0 + batch, config={"batch": batch})
    with CaptureQueriesContext(connection) as first:
        guest.page(TAB)  # remembers the strips
    with CaptureQueriesContext(connection) as many:
        guest.page(TAB)
    assert len(many) <= len(few)
    assert len(first) >= len(many)


def test_why_a_result_is_noisy_names_its_own_limit(version):
    narrow = timed.measured("0" * 64)["gate"] | {"between_process_cv": 0.03}
    row = timed.benchmark(version, 7.0, spread=0.03, gate=narrow, deliver=False)
    assert row.reasons == ["spread-between-processes"]
    cv = f"{row.between_process_cv:.4f}"
    assert 0.03 < float(cv) < 0.05
    said = measurements.why(Measurement.objects.get(pk=row.pk))
    assert said == "the processes differ by 4.74\u202f%, more than the 3\u202f% limit"
    assert measurements.why(Measurement.objects.defer("record").get(pk=row.pk)).endswith(
        "the limit"
    )


def test_a_strip_draws_the_processes_that_its_figures_are_over(version):
    """Of three that count and two that do not, all five make the figures of a noisy result."""
    loud = timed.INTERFERENCE | {"foreign_cpu": 0.5}
    slow = [timed.process(n, timed.scattered(9, 20, n), interference=loud) for n in range(2)]
    fast = [timed.process(n, timed.scattered(1, 20, n)) for n in range(2, 5)]
    row = timed.benchmark(version, processes=[*slow, *fast], deliver=False)
    assert (row.status, row.processes) == ("noisy", 5)
    assert max(latency_strips.spread_of(row).dots) > 8
    more = [timed.process(n, timed.scattered(1, 20, n)) for n in range(5, 7)]
    row = timed.benchmark(version, processes=[*slow, *fast, *more], deliver=False)
    assert (row.status, row.processes) == ("accepted", 5)
    assert max(latency_strips.spread_of(row).dots) < 2


# --- drawing --------------------------------------------------------------------------------------


def test_an_axis_has_room_and_decades():
    axis = latency_strips.axis_of([0.19, 28.0, None])
    assert [tick.words for tick in axis.ticks] == ["0.1\u202fms", "1\u202fms", "10\u202fms"]
    assert 0 <= axis.place(0.19) < axis.place(1) < axis.place(28) <= 100
    assert latency_strips.axis_of([None]) is None
    same = latency_strips.axis_of([1.0])
    assert same.high > same.low


def test_a_strip_keeps_at_most_so_many_dots():
    spread = latency_strips._summed([1.0 + place / 1e4 for place in range(5000)])
    assert len(spread.dots) <= latency_strips.DOTS
    assert spread.low < spread.high
    drawn = latency_strips.draw(
        latency_strips.axis_of([1, 2]), spread, median=1.2, p95=1.4, tone="grey"
    )
    assert "of-grey" in drawn
    assert drawn.count("<") <= 8


def test_what_a_record_tells_of_operators_is_taken_with_care():
    odd = [{"operator": "If", "time_ms": "x", "share": -1, "nodes": 2, "contains_others": True}]
    whole = [{"operator": "Conv", "time_ms": 3.0, "provider": "CPUExecutionProvider"}, *odd, "no"]
    first, second = run_facts.operators(Measurement(record={"per_operator": {"operators": whole}}))
    assert (first["operator"], first["share"], first["provider"]) == ("Conv", "100\u202f%", "CPU")
    assert (second["share"], second["inside"], second["count"]) == ("0\u202f%", True, "2")
    assert run_facts.operators(Measurement(record={"per_operator": {"operators": 5}})) == []


def test_many_samples_are_a_band_and_few_a_line():
    process = Process(0, tuple(range(1_000_000, 1_002_000)))
    whole = run.line([process], {})
    assert "<polygon" in whole["drawing"]
    assert whole["drawing"].count(",") < 4 * run.COLUMNS
    part = run.line([process], {"from": "0", "to": "400"})
    assert "<polygon" not in part["drawing"]
    assert run.line([], {}) is None
    assert sum(bar["count"] for bar in run.histogram(Measurement(processes=1), [process])) == 2000


def test_a_histogram_is_of_the_processes_that_the_figures_are_over():
    kept = Process(0, (1_000_000,) * 3)
    rejected = Process(1, (9_000_000,) * 5, rejected=True, reasons=("foreign-cpu",))
    for processes, count in ((1, 3), (2, 8)):  # of too few that were kept all are used
        bars = run.histogram(Measurement(processes=processes), [kept, rejected])
        assert sum(bar["count"] for bar in bars) == count


def test_what_nothing_beats_is_the_frontier():
    points = [charts.Point(1, 5), charts.Point(2, 2), charts.Point(3, 3), charts.Point(4, 1)]
    assert charts.undominated(points) == [True, True, False, True]
    assert charts.line(points[:1]) == ""


@pytest.mark.parametrize(
    ("joules", "provenance", "words"),
    [
        (0.5, "measured", "500\u202fJ"),
        (0.01234, "measured", "12.3\u202fJ"),
        (0.01234, "declared", "12.3\u202fJ"),
        (0.01234, "estimated", "≈\u202f12\u202fJ"),
        (0.1234, "estimated", "≈\u202f120\u202fJ"),
        (None, "none", "not measured"),
    ],
)
def test_an_estimate_of_energy_says_about_and_has_two_digits(joules, provenance, words):
    row = Measurement(status="accepted", trust="hub", energy_j=joules, energy_provenance=provenance)
    assert figures.text(row.figure(ENERGY)) == words
