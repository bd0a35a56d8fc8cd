"""The sentence that the evidence writes under a model's name, case by case."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.core import outbox
from registry.models import Version
from runners.models import ConformanceResult, Job
from tests import evaluated, factories, proven, shared, timed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs", "lists")]
PAGE = "/models/ada/net/v/1"


@shared.rows
def start():
    return factories.version(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


def sentence(html):
    """The class of the sentence, its words and the addresses that it leads to."""
    match = re.search(r'<p class="claim ([a-z]*)"[^>]*>(.*?)</p>', html, re.DOTALL)
    words = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", match[2]))).strip()
    return match[1], words, re.findall(r'<a href="([^"]*)"', match[2])


def test_what_passes_is_said_with_its_figures(guest, version):
    rows = proven.conformance(
        version,
        [
            proven.measure("bundled", datasets=3, outputs=[proven.figures(max_abs=1e-7)]),
            proven.measure("reference", datasets=16, outputs=[proven.figures(max_abs=2e-7)]),
            proven.measure("determinism"),
        ],
    )
    run = timed.benchmark(version, 0.19, deliver=False)
    html = guest.page(PAGE)
    tone, words, urls = sentence(html)
    assert tone == "pass"
    assert words == (
        "Runs on ONNX Runtime; "
        "equals the ONNX reference within 2.0e\u22127 on 16 generated inputs; "
        "equals its stored test data within 1.0e\u22127 on 3 data sets; "
        f"0.19 ms at p50 on {run.device_title} with ONNX Runtime 1.31.1 CPU; "
        "verified just now."
    )
    assert urls == [
        f"{PAGE}/conformance",
        f"{PAGE}/conformance/{rows['reference'].pk}",
        f"{PAGE}/conformance/{rows['bundled'].pk}",
        f"{PAGE}/benchmarks/{run.pk}",
    ]
    plain = words.replace("verified just now", f"verified {timezone.now():%Y-%m-%d}")
    for name in ('name="description"', 'property="og:description"'):
        content = re.search(f'<meta {name} content="([^"]*)">', html)[1]
        assert re.sub(r"\s", " ", unescape(content)) == f"It tells digits apart. {plain}"


def test_a_runtime_that_fails_comes_first_with_check_size_and_time(guest, version):
    proven.conformance(version, [proven.measure("reference", datasets=16)])
    failing = proven.measure(
        "reference", "failed", runtime="openvino", outputs=[proven.figures(max_abs=0.3)]
    )
    row = proven.conformance(version, [failing], runtime="openvino")["reference"]
    tone, words, urls = sentence(guest.page(PAGE))
    assert tone == "fail"
    assert words.startswith("Fails on OpenVINO 2026.4.1 (reference check, off by 0.3, just now); ")
    assert "runs on ONNX Runtime; " in words
    assert urls[0] == f"{PAGE}/conformance/{row.pk}"


def test_a_wrong_reference_counts_against_no_runtime(guest, version):
    proven.conformance(version, [proven.measure("reference", "cantTell", blames="reference")])
    tone, words, _ = sentence(guest.page(PAGE))
    assert tone == "part"
    assert "The comparison with the ONNX reference is wrong here, which counts against no" in words
    assert "runs on" not in words


def test_a_runtime_that_does_not_run_it_is_named(guest, version):
    proven.conformance(version, [proven.measure("reference", "cantTell", runs=False)])
    assert ConformanceResult.objects.get().runs is False
    assert "Does not run on ONNX Runtime 1.31.1;" in sentence(guest.page(PAGE))[1]


def test_a_reference_that_does_not_run_it_is_no_warning(guest, version):
    proven.conformance(version, [proven.measure("bundled", outputs=[proven.figures(max_abs=0.0)])])
    stuck = proven.measure("bundled", "cantTell", runtime="onnx-reference", runs=False)
    proven.conformance(version, [stuck], runtime="onnx-reference")
    tone, words, _ = sentence(guest.page(PAGE))
    assert tone == "pass"
    assert "the ONNX reference does not run it, so nothing was compared with it;" in words
    assert "equals its stored test data exactly on 1 data set;" in words


def test_what_runs_and_waits_for_its_comparison_is_no_warning(guest, version):
    none = proven.measure("bundled", "inapplicable")
    proven.conformance(version, [none, proven.measure("determinism")])
    tone, words, _ = sentence(guest.page(PAGE))
    assert tone == ""
    assert words == (
        "Runs on ONNX Runtime 1.31.1 (the comparison with the ONNX reference was not made); "
        "verified just now."
    )
    proven.waiting(version, "conformance", runtime="onnx-reference")
    assert "the ONNX reference is queued or running); " in sentence(guest.page(PAGE))[1]


def test_what_was_compared_without_a_verdict_is_a_warning(guest, version):
    stuck = proven.measure("reference", "cantTell", reason="Its outputs are random.")
    proven.conformance(version, [proven.measure("determinism"), stuck])
    assert sentence(guest.page(PAGE))[:2] == (
        "part",
        "Could not be judged on ONNX Runtime 1.31.1; verified just now.",
    )


def test_nothing_measured_says_what_is_under_way(guest, version):
    assert sentence(guest.page(PAGE))[:2] == ("", "Nothing is measured yet: no job is queued.")
    proven.waiting(version, "conformance", runtime="onnxruntime")
    proven.waiting(version, "benchmark")
    assert sentence(guest.page(PAGE))[1] == (
        "Conformance and latency are queued or running: view progress."
    )
    Job.objects.update(state=Job.State.CANCELLED)
    assert "no job is queued" in sentence(guest.page(PAGE))[1]


def test_a_noisy_latency_is_called_noisy(guest, version):
    timed.benchmark(version, spread=0.3, deliver=False)
    assert "0.897 ms at p50 (noisy, so not ranked) on Example CPU" in sentence(guest.page(PAGE))[1]


def test_the_latency_is_the_one_that_the_table_shows(guest, version):
    for milliseconds in (1.0, 2.0):  # the newest result of one setup counts
        timed.benchmark(version, milliseconds, spread=0.3, deliver=False)
    html = guest.page(PAGE)
    figure = sentence(html)[1].partition(" at p50")[0].split()[0]
    table = html.partition('aria-labelledby="latency"')[2].partition("</section>")[0]
    assert figure.startswith("1.7")
    assert figure in table


def test_measured_accuracy_has_its_data_and_interval(guest, ada):
    factories.published(
        ada, factories.model(ada, "claims"), card=evaluated.card(("accuracy", 0.95))
    )
    evaluated.stones(ada)
    job = evaluated.waiting(entry="model.onnx")[0]
    evaluated.end(job)
    outbox.deliver()
    tone, words, urls = sentence(guest.page("/models/ada/claims/v/1"))
    assert tone == "part"
    assert (
        "80 % accuracy on stones test, 95 % interval 70 % to 90 %, "
        "less than the claimed 95 %" in words
    )
    assert f"/jobs/{job.pk}" in urls


def test_states_without_evidence(guest, reader, ada, version):
    factories.draft(ada, factories.model(ada, "early"))
    words = sentence(reader.page("/models/ada/early/v/1"))[1]
    assert words == (
        "Conformance, latency and accuracy are measured after publication: view checks."
    )
    Version.objects.filter(pk=version.pk).update(
        state="withdrawn", reason="Wrong weights.", ended_at=timezone.now()
    )
    assert sentence(guest.page(PAGE, 410))[:2] == ("fail", "Withdrawn: its files were deleted.")


def test_restricted_files_lead_to_the_request(guest, ada):
    version = factories.version(ada, factories.model(ada, "gated", gate="manual"))
    assert version.model.is_gated
    tone, words, urls = sentence(guest.page("/models/ada/gated/v/1"))
    assert (tone, words) == ("", "Files are restricted: request access.")
    assert urls == ["/models/ada/gated/access"]


def test_a_version_of_several_models_says_which(guest, ada):
    version = factories.version(ada, factories.model(ada, "pair"))
    first = version.variants.get()
    first.pk, first.name, first.entry = (
        None,
        "decoder",
        version.files.exclude(pk=first.entry_id).first(),
    )
    first.save()
    words = sentence(guest.page("/models/ada/pair/v/1"))[1]
    assert "This is default, one of 2 models of this version." in words


def folds(html):
    """The folded parts of the overview, each with whether it is open."""
    found = re.findall(r'<details class="panel folds"( open)?>\s*<summary><h2 id="(\w+)"', html)
    return {name: bool(is_open) for is_open, name in found}


def test_what_passes_folds_and_what_fails_is_open(guest, version):
    proven.conformance(version, [proven.measure("reference")])
    assert folds(guest.page(PAGE))["conformance"] is False
    proven.conformance(version, [proven.measure("reference", "failed")])
    assert folds(guest.page(PAGE))["conformance"] is True


def test_the_overview_asks_as_much_whatever_was_measured(guest, version):
    def asked():
        guest.page(PAGE)
        with CaptureQueriesContext(connection) as queries:
            guest.page(PAGE)
        return len(queries)

    before = asked()
    proven.conformance(version, [proven.measure("reference"), proven.measure("bundled")])
    proven.conformance(version, [proven.measure("reference", runtime="openvino")], "openvino")
    after = asked()
    assert after <= before + 2
