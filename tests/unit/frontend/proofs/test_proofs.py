"""What was proven, on pages: the matrix and its evidence, variants with their cost, the suite."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from frontend.pages.proofs import evidence
from frontend.parts import formatting
from frontend.presenters import conformance, parity_figures
from frontend.templatetags import parts
from hub.protocol.proofs import Branch, Proof
from registry.models import Upload, Variant, Version
from runners.engine.runs import agreement
from runners.models import ConformanceResult, ConformanceVerdict, Job, SuiteRun
from runners.proofs import verification
from runners.queue import aliases, services
from tests import factories, proven, samples, shared

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs")]
PAGE = "/models/ada/net/v/1"
MATRIX = f"{PAGE}/conformance"
VARIANTS = f"{PAGE}/variants"
FEATURES = {"versions": proven.VERSIONS, "runtimes": {"onnxruntime": {}, "onnx-reference": {}}}


@shared.rows
def start():
    return factories.published(factories.somebody("ada"))


@pytest.fixture
def version(start, db):
    return shared.fresh(start)


@pytest.fixture
def offered():
    """A worker that brings two runtimes."""
    services.see("w1", host="h", pool="cpu", features=FEATURES)
    verification.register()


def words(page):
    """A page as it is read out, without its tags."""
    return re.sub(r"[ \n]+", " ", unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2])))


def test_nothing_run_is_said_in_words(guest, version):
    assert "Nothing is measured yet" in words(guest.page(PAGE))
    assert "Not run" in words(guest.page(MATRIX))
    assert "No worker offers a runtime yet" in guest.page(MATRIX)
    html = guest.page(VARIANTS)
    assert "original" in html
    assert "Not run. The job is queued once a worker offers ONNX Runtime." in html


def test_a_draft_says_when_its_checks_run(reader, ada):
    factories.draft(ada)
    assert "after publication" in reader.page(MATRIX)
    assert "No variants yet." in reader.page(VARIANTS)


def test_matrix_says_number_word_and_blame_and_opens_the_run(guest, version):
    found = proven.conformance(
        version,
        [
            proven.measure(
                "bundled", "cantTell", blames="data", outputs=[proven.figures(agrees=False)]
            ),
            proven.measure("reference", "cantTell", reason="The reference took too long."),
            proven.measure("optimisation"),
            proven.measure("determinism"),
        ],
    )
    proven.conformance(
        version,
        [
            proven.measure("bundled", "inapplicable", "openvino"),
            proven.measure(
                "reference",
                "failed",
                "openvino",
                blames="runtime",
                outputs=[proven.figures(agrees=False, max_abs="inf")],
            ),
            proven.measure("optimisation", "untested", "openvino"),
            proven.measure("determinism", "failed", "openvino", runs=False),
        ],
        "openvino",
    )
    html = guest.page(MATRIX)
    text = words(html)
    assert "2 of 4 pass, 2 fail, 1 data wrong, 1 can't tell, 1 not tested" in text
    assert "data wrong" in text
    assert f"passes: 2.4e{formatting.MINUS}7" in text
    assert "passes: bit-equal" in text
    assert "fails: infinite" in text
    assert "does not run" in text
    assert "not applicable" in text
    assert "ONNX Runtime1.31.1" in text
    for row in found.values():
        assert f'href="{MATRIX}/{row.pk}"' in html
    assert "/api/v1/models/ada/net/versions/1/conformance" in html
    assert "data wrong" in guest.page(PAGE)


def test_a_variant_names_the_builds_that_ran_it_and_those_that_load_no_such_opset(guest, version):
    proven.upgrades(version, {28: b"newest", 26: b"portable"})
    for name, runtime in (("opset28", "onnxruntime"), ("opset26", "onnx-reference")):
        checks = [proven.measure("determinism", runtime=runtime, runs=True)]
        proven.conformance(version, checks, runtime, entry=f"model.{name}.onnx")
    text = words(guest.page(VARIANTS))
    assert text.count("does not load on GPU (1.31.1) or in browsers (1.30.0)") == 1
    assert text.count("ran on ONNX Runtime 1.31.1") == 1
    assert text.count("ran on ONNX reference 1.23.2") == 1
    assert "26 ready: " in text
    items = guest.get("/api/v1/models/ada/net/versions/1/variants").json()["items"]
    assert {row["name"]: row["portable"] for row in items} == {
        "default": True, "opset28": False, "opset26": True,
    }  # fmt: skip


def test_cells_without_a_result_lead_to_their_job(guest, version, offered):
    proven.running(version, "conformance", runtime="onnxruntime")
    waits = proven.waiting(version, "conformance", runtime="onnx-reference")
    html = guest.page(MATRIX)
    assert html.count(f'href="/jobs/{waits.pk}"') == 4
    text = words(html)
    assert "4 running, 4 queued" in text
    Job.objects.filter(pk=waits.pk).update(state="cancelled")
    assert "4 not completed" in words(guest.page(MATRIX))
    Job.objects.filter(kind="conformance").delete()
    assert "8 not run" in words(guest.page(MATRIX))


def test_a_check_that_runs_again_keeps_its_old_verdict_and_says_so(guest, version):
    proven.conformance(version, [proven.measure("determinism")])
    proven.waiting(version, "conformance", runtime="onnxruntime")
    text = words(guest.page(MATRIX))
    assert "passes: bit-equal" in text
    assert "1.31.1, queued again" in text


def test_evidence_has_every_figure_the_node_and_its_past(guest, version):
    bad = proven.figures(
        "probs", agrees=False, reason="2 of 10 outside", max_abs=0.03, cosine=0.9999999, top1=0.996
    )
    old = proven.conformance(version, [proven.measure("reference")])["reference"]
    step = {"op": "Loop", "name": "", "index": 4, "body": "body", "iteration": 2}
    node = {"name": "/conv/1", "op": "Conv", "index": 3, "figures": proven.figures(max_abs=0.02)}
    node["path"] = [step]
    found = proven.conformance(
        version,
        [
            proven.measure(
                "reference",
                "failed",
                blames="runtime",
                reason="ONNX Runtime disagrees.",
                outputs=[proven.figures("y"), bad],
                node=node,
                evidence="diverging-Conv.zip",
            )
        ],
        kept={"diverging-Conv.zip": b"PK"},
    )["reference"]
    html = guest.page(f"{MATRIX}/{found.pk}")
    text = words(html)
    for said in (
        "Fails. At least one output differs by more than the tolerance.",
        "The runtime caused the failure.",
        "ONNX Runtime disagrees.",
        "fp32: relative 0.001, absolute 0.000 01",
        "2 of 10 outside",
        "0.999999",
        f"99.6{formatting.NARROW}%",
        "/conv/1, node 3 in order of execution, in iteration 2 (from 0) of the body of Loop",
        "onnxruntime 1.31.1",
        "2 results of this check",
    ):
        assert said in text, said
    table = text.partition("Figuresper")[2]
    assert table.index("differs") < table.index("agrees")
    assert f'href="{PAGE}/files/{found.evidence.path}"' in html
    assert f'href="/jobs/{found.job_id}"' in html
    assert b"".join(guest.get(f"{PAGE}/files/{found.evidence.path}")) == b"PK"
    before = guest.page(f"{MATRIX}/{old.pk}")
    assert "Newer result available." in before
    assert f'href="{MATRIX}/{found.pk}"' in before
    groups = words(guest.page(f"{PAGE}/files"))
    assert "Evidence1 file" in groups


def test_evidence_names_its_data_its_environment_and_a_way_to_repeat_it(guest, ada):
    folder = "test_data_set_0"
    contents = {
        "model.onnx": samples.mlp(),
        f"{folder}/input_0.pb": b"1",
        f"{folder}/output_0.pb": b"2",
        f"{folder}0/input_0.pb": b"of another set",
    }
    factories.version(ada, factories.model(ada, "tested"), contents)
    of = Version.objects.get(model__name="tested")
    outputs = [proven.figures(), proven.figures(dataset="generated")]
    found = proven.conformance(of, [proven.measure("reference", outputs=outputs, datasets=2)])
    row = found["reference"]
    html = guest.page(f"/models/ada/tested/v/1/conformance/{row.pk}")
    place = f"/models/ada/tested/v/1/files/{folder}"
    for name in ("input_0.pb", "output_0.pb"):
        assert f'<a href="{place}/{name}" download>{name}</a>' in html
    assert f"{place}0/" not in html
    assert "<code>generated</code> <span" in html
    assert f"worker {aliases.worker(row.job.worker)}" in words(html)
    assert "logs are not stored" in html
    command = unescape(html.partition('id="repeat"')[2].partition("<code>")[2].partition("<")[0])
    wanted = '{"variant": "default", "runtime": "onnxruntime"}'
    assert f"-d '{wanted}'" in command
    assert command.endswith("/api/v1/models/ada/tested/versions/1/conformance")


def test_evidence_of_a_file_that_was_replaced_says_so(guest, version):
    proven.upgrade(version)
    found = proven.conformance(
        version, [proven.measure("determinism")], entry="model.opset26.onnx"
    )["determinism"]
    assert "Outdated." not in guest.page(f"{MATRIX}/{found.pk}")
    proven.upgrade(version, b"another")
    assert "Outdated." in guest.page(f"{MATRIX}/{found.pk}")
    assert "not run" in words(guest.page(VARIANTS))


def test_figures_of_any_shape_do_no_harm(guest, version):
    odd = [{"max_abs": "nan", "cosine": "x", "shape": "?"}, 7, {"max_abs": [1], "top1": True}]
    rows = proven.conformance(
        version, [proven.measure("bundled", outputs=odd, node={"figures": [None]})]
    )
    text = words(guest.page(f"{MATRIX}/{rows['bundled'].pk}"))
    assert "not a number" in text
    assert "n/a" in text


def test_evidence_shows_a_bounded_number_of_rows(guest, version):
    many = [proven.figures(f"y{index}") for index in range(parity_figures.LIMIT + 5)]
    rows = proven.conformance(version, [proven.measure("bundled", outputs=many)])
    html = guest.page(f"{MATRIX}/{rows['bundled'].pk}")
    assert "5 more rows" in html
    assert f"y{parity_figures.LIMIT}" not in html


def test_result_of_another_version_is_not_here(guest, ada, version):
    other = factories.published(ada, version.model)
    row = proven.conformance(other, [proven.measure("bundled")])["bundled"]
    guest.page(f"/models/ada/net/v/2/conformance/{row.pk}")
    guest.page(f"{MATRIX}/{row.pk}", 404)


def test_what_may_not_be_seen_has_no_proofs(guest, ada):
    model = factories.model(ada, "secret", visibility="private")
    hidden = factories.published(ada, model)
    row = proven.conformance(hidden, [proven.measure("bundled")])["bundled"]
    for path in ("conformance", f"conformance/{row.pk}", "variants"):
        guest.page(f"/models/ada/secret/v/1/{path}", 404)


def test_maintainers_run_checks_again(guest, reader, version, offered):
    proven.conformance(version, [proven.measure("determinism")])
    assert "Run again" not in guest.page(MATRIX)
    assert "Run again" in reader.page(MATRIX)
    assert guest.post(f"{MATRIX}/again")["Location"].startswith("/login")
    answer = reader.post(f"{MATRIX}/again", {"variant": "default", "runtime": "onnxruntime"})
    job = Job.objects.get(kind="conformance", state="queued")
    assert answer["Location"] == f"/jobs/{job.pk}"
    assert job.input["runtime"] == "onnxruntime"
    assert reader.post(f"{MATRIX}/again")["Location"] == MATRIX
    assert "2 jobs queued" in reader.page(MATRIX)
    reader.post(f"{MATRIX}/again", {"runtime": "openvino"})
    assert "Nothing was queued." in reader.page(MATRIX)


def test_others_do_not_run_checks_again(guest, bob, version, offered):
    guest.force_login(bob)
    assert guest.post(f"{MATRIX}/again").status_code == 403
    assert guest.post(VARIANTS, {"kind": "int8", "source": "default"}).status_code == 403
    assert not Job.objects.filter(state="queued").exists()


def test_variants_with_what_they_cost_and_how_to_take_them(guest, version):
    upgraded = proven.upgrade(version)
    converted = proven.convert(version, b"x" * 20)
    html = guest.page(VARIANTS)
    text = words(html)
    for said in (
        "upgraded from default",
        "converted from default",
        "max abs 0cosine 1",
        "2 rules",
        "Hardmax, Softmax",
        "max abs 0.031cosine 0.998710",
        f"top-1 99.6{formatting.NARROW}%",
        f"26 ready: {proven.PROOF.sentence}",
        "Opset 26: equal",
        'hub.load("ada/net@1", opset=26)',
        'hub.load("ada/net@1", variant="int8")',
    ):
        assert said in text, said
    for variant in (upgraded, converted):
        assert f'href="{PAGE}/files/{variant.entry.path}"' in html
        assert f'href="/jobs/{variant.job_uuid}"' in html
    assert "Create a variant" not in html


def test_an_upgrade_that_nothing_could_run_is_not_called_verified(guest, version):
    proven.upgrade(version, proof=Proof(("schema-registry",)).to_json())
    for page in (PAGE, VARIANTS):
        text = words(guest.page(page))
        assert "26 ready: not run: no operator changed" in text
        assert "verified" not in text.replace("Verified", "")


def test_a_sampled_upgrade_says_how_its_opset_loads_it(guest, version):
    proven.upgrade(version, proof=proven.SAMPLED.to_json())
    assert "26 not used by default: equal on 3 bundled" in words(guest.page(PAGE))
    text = words(guest.page(VARIANTS))
    assert 'loaded by its opset only with strength="sampled"' in text
    assert 'hub.load("ada/net@1", opset=26, strength="sampled")' in text
    assert "sides 32 to 96, |x| ≤ 4e+04" in text


def test_an_upgrade_that_is_equal_in_part_says_what_is_missing(guest, version):
    branch = Branch("If_3", "If", "then_branch", 4, taken=False)
    partial = replace(proven.PROOF, branches=(branch,), ran=118)
    steps = [{"target": 26, "result": "partial", "reason": "", "blocking": []}]
    proven.upgrade(version, proof=partial.to_json(), steps=steps)
    head = words(guest.page(PAGE))
    assert "26 not used by default: equal where compared, on 3 bundled and 16 generated" in head
    text = words(guest.page(VARIANTS))
    for said in (
        "118 of 122 nodes ran",
        "then_branch of 'If_3' (If) never entered",
        "loaded only by name",
        "Opset 26: partly compared",
        'hub.load("ada/net@1", variant="opset26")',
    ):
        assert said in text, said
    assert "26 ready" not in head + text


def test_an_upgrade_by_an_older_method_says_so(guest, version):
    proven.upgrade(version, proof=None)
    assert "26 not used by default: recorded by an older method" in words(guest.page(PAGE))
    assert "recorded by an older method" in words(guest.page(VARIANTS))


def test_chosen_variant_stays_in_the_address(guest, version):
    proven.upgrade(version)
    proven.convert(version)
    html = guest.page(f"{PAGE}?variant=int8")
    assert f'href="{MATRIX}?variant=int8"' in html
    assert "hub get ada/net@1:int8" in html
    assert Variant.objects.get(name="int8").entry.blob_id in html
    assert "26 ready: equal on 3 bundled and 16 generated inputs" not in html
    assert proven.PROOF.brief in guest.page(f"{PAGE}?variant=opset26")
    assert "26 ready: equal on 3 bundled and 16 generated inputs" in guest.page(PAGE)
    to = "/models/ada/net?v=1&tab=conformance"
    assert guest.get(f"{to}&variant=int8")["Location"] == f"{MATRIX}?variant=int8"
    for preset in ("default", "", "of-another-version"):
        assert guest.get(f"{to}&variant={preset}")["Location"] == MATRIX
    assert "Available: default, opset26, int8" in guest.page(f"{PAGE}?variant=int4", 404)


def test_derived_files_stand_apart(guest, version):
    proven.upgrade(version)
    text = words(guest.page(f"{PAGE}/files"))
    assert "Files2 files" in text
    assert "Derived by the hub1 file" in text
    html = guest.page(PAGE)
    assert "1 more file" in html


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda version: proven.waiting(version, "upgrade", source="default"), "Queued."),
        (lambda version: proven.running(version, "upgrade", source="default"), "Running:"),
        (proven.blocked, "No other opset gives equal outputs."),
        (
            proven.unprovable,
            "No upgrade: nothing can show equal outputs, output &#x27;y&#x27; is the same on",
        ),
    ],
)
def test_ladder_says_how_far_it_got(guest, version, make, said):
    job = make(version)
    html = guest.page(VARIANTS)
    assert said in html
    assert f'href="/jobs/{job.pk}"' in html


def test_ladder_names_the_nodes_in_the_way(guest, version):
    proven.blocked(version)
    text = words(guest.page(VARIANTS))
    assert "Opset 26: blocked" in text
    assert "Upsample up, 9 to 10: no equal" in text
    assert "Opset 21: parity lost" in text
    assert "y differs by 0.3" in text


def test_each_rung_is_shown_in_its_newest_try(guest, version):
    proven.blocked(version)
    newer = proven.upgrade(version)
    html = guest.page(VARIANTS)
    text = words(html)
    assert "Opset 26: equal" in text
    assert "Opset 26: blocked" not in text
    assert "Opset 21: parity lost" in text
    assert f'href="/jobs/{newer.job_uuid}"' in html


def test_maintainers_make_variants(reader, version):
    assert "Create a variant" in reader.page(VARIANTS)
    answer = reader.post(VARIANTS, {"kind": "upgrade", "source": "default", "opset": "21"})
    job = Job.objects.get(kind="upgrade")
    assert answer["Location"] == f"/jobs/{job.pk}"
    assert (job.input["target"], job.input["source"]) == (21, "default")
    assert "Upgrade opset to 21: model.onnx" in reader.page("/jobs")


def test_a_sample_calibrates(reader, ada, version):
    sample = SimpleUploadedFile("sample.npz", b"PK numbers")
    given = {"kind": "int8-qdq", "source": "default", "calibration": sample}
    assert reader.post(VARIANTS, given).status_code == 302
    kept = Upload.objects.get(owner=ada, filename="sample.npz")
    assert Job.objects.get(kind="convert").input["calibration_sha256"] == kept.blob_id


def test_a_fault_of_the_optimiser_is_named_on_the_page_and_in_the_api(guest, version):
    result = proven.conformance(
        version,
        [
            proven.measure(
                "optimisation",
                "failed",
                blames="optimiser",
                graph_pass="DivMulFusion",
                reason="It differs.",
                evidence="diverging-DivMulFusion.zip",
            )
        ],
        kept={"diverging-DivMulFusion.zip": b"PK"},
    )["optimisation"]
    text = words(guest.page(f"{MATRIX}/{result.pk}"))
    assert "Optimiser wrong. The runtime's graph optimiser breaks the model" in text
    assert "Optimiser passDivMulFusion" in text
    [row] = guest.get("/api/v1/models/ada/net/versions/1/conformance").json()["items"]
    assert (row["blames"], row["verdict"]) == ("optimiser", "optimiser-wrong")
    assert row["graph_pass"] == "DivMulFusion"


def test_nodes_that_stay_in_float32_are_lines(reader, version):
    given = {"kind": "fp16", "source": "default", "keep_float32": "/b/Mul\r\n\r\n /a/MatMul "}
    assert reader.post(VARIANTS, given).status_code == 302
    assert Job.objects.get(kind="convert").input["keep_float32"] == ["/a/MatMul", "/b/Mul"]


def test_figures_of_half_precision_say_how_they_were_computed(guest, version):
    half = {"sets": 4, "of": 5, "cosine": 0.9931, "top1": 0.91, "max_abs": 0.02}
    nodes = [{"node": "/head/MatMul", "reason": "h reaches 7e+04"}]
    proven.convert(
        version,
        b"half",
        recipe="fp16",
        precision="fp16",
        facts={"in_float32": nodes},
        profile="fp16",
        half=half,
        top1=1.0,
    )
    text = words(guest.page(VARIANTS))
    assert "computed in float32 on CPU; in half by the reference on 4 inputs" in text
    assert "cosine 0.993100" in text
    assert f"top-1 91{formatting.NARROW}%" in text
    assert "1 node in float32" in text
    assert "/head/MatMul: h reaches 7e+04" in text


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"kind": "int4"}, "kind", "Select a valid choice"),
        ({"kind": "int8", "opset": "17"}, "opset", "int8 takes no opset; upgrade does."),
        ({"kind": "upgrade", "opset": "3"}, "opset", "Choose 7 or higher"),
        (
            {"kind": "fp16", "calibration": SimpleUploadedFile("s.npz", b"PK")},
            "calibration",
            "Only int8-qdq uses a calibration sample",
        ),
        (
            {"kind": "int8-qdq", "calibration": SimpleUploadedFile("s.pickle", b"\x80")},
            "calibration",
            "Choose an .npz file",
        ),
    ],
)
def test_form_says_at_the_field_what_is_wrong(reader, version, given, field, said):
    response = reader.post(VARIANTS, {"source": "default", **given})
    assert response.status_code == 422
    html = response.content.decode()
    at_field = html.partition(f'name="{field}"')[2].partition('<div class="field')[0]
    assert said in at_field
    assert not Job.objects.filter(state="queued").exists()


def test_forms_of_proofs_are_kept_from_other_sites(ada, version, admin):
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin)
    for path in (f"{MATRIX}/again", VARIANTS, "/scoreboard/start"):
        assert browser.post(path, {"kind": "int8", "source": "default"}).status_code == 403


CASES = [
    ("test_abs", "Abs", 13, "passed"),
    ("test_add", "Add", 14, "passed"),
    ("test_resize_a", "Resize", 19, "failed"),
    ("test_resize_b", "Resize", 19, "passed"),
    ("test_loop", "Loop", None, "timed-out"),
    ("test_new", "New", 27, "unsupported"),
]


def test_scoreboard_by_runtime(guest):
    assert "No results yet" in guest.page("/scoreboard")
    proven.suite("onnxruntime", "1.31.1", CASES)
    html = guest.page("/scoreboard")
    assert f"50{formatting.NARROW}%" in words(html)
    assert 'href="/scoreboard/onnxruntime/1.31.1"' in html
    assert 'class="end-passed" d="M0 0h3v1H0z"' in html


def test_score_by_operator_opset_and_case(guest):
    proven.suite("onnxruntime", "1.31.1", CASES)
    score = "/scoreboard/onnxruntime/1.31.1"
    html = guest.page(score)
    assert f'href="{score}?operator=Resize"' in html
    assert "Abs 1" in words(html)
    assert "unnamed" in words(html).partition("By opset")[2]
    text = words(guest.page(f"{score}?show=cases"))
    assert "3 that did not pass" in text
    assert "test_abs" not in text
    assert "Resize output differs from the specification" in text
    assert "test_resize_b" in guest.page(f"{score}?operator=Resize")
    assert "test_resize_b" not in guest.page(f"{score}?operator=Resize&outcome=failed")
    assert "No matching cases" in guest.page(f"{score}?operator=Nothing")
    guest.page("/scoreboard/onnxruntime/1.0.0", 404)


def test_cases_come_in_pages(guest):
    proven.suite("onnxruntime", "1.31.1", [(f"t{n:03}", "Abs", 13, "failed") for n in range(55)])
    score = "/scoreboard/onnxruntime/1.31.1?show=cases"
    html = guest.page(score)
    assert "t049" in html
    assert "t050" not in html
    assert "?show=cases&amp;page=2" in html
    assert "t050" in guest.page(f"{score}&page=2")


def test_score_against_another_version(guest):
    proven.suite("onnxruntime", "1.31.1", CASES)
    proven.suite("onnxruntime", "1.30.0", [("test_abs", "Abs", 13, "failed"), *CASES[1:]])
    score = "/scoreboard/onnxruntime/1.31.1"
    assert '<option value="1.30.0">ONNX Runtime 1.30.0' in guest.page(score)
    text = words(guest.page(f"{score}?with=1.30.0"))
    assert "1 differ: 1 pass only in this run, 0 only in the other" in text
    proven.suite("onnx-reference", "1.23.2", CASES[:3])
    text = words(guest.page(f"{score}?with=onnx-reference/1.23.2"))
    assert "absent" in text
    guest.page(f"{score}?with=9.9", 404)


def test_a_run_that_is_under_way_says_so(guest):
    proven.suite("onnxruntime", "1.31.1", CASES[:1], parts=16)
    assert "1 of 16 parts" in guest.page("/scoreboard")
    assert "running" in guest.page("/scoreboard/onnxruntime/1.31.1")


def test_administrators_start_the_suite(reader, guest, admin, offered):
    assert "Run now" not in reader.page("/scoreboard")
    assert reader.post("/scoreboard/start", {"runtime": "onnxruntime"}).status_code == 403
    guest.force_login(admin)
    assert "Run now" in guest.page("/scoreboard")
    guest.post("/scoreboard/start", {"runtime": "onnxruntime"})
    assert SuiteRun.objects.get().runtime == "onnxruntime"
    assert Job.objects.filter(kind="suite").count() == verification.SUITE_PARTS
    assert "queued for ONNX Runtime" in guest.page("/scoreboard")
    assert "Operator suite on ONNX Runtime, part 1 of 16" in guest.page("/jobs")
    assert "Table of jobs" in guest.page("/jobs")
    guest.post("/scoreboard/start", {"runtime": "tensorrt"})
    assert "no worker offers tensorrt" in guest.page("/scoreboard")


@pytest.mark.parametrize("path", [PAGE, MATRIX, VARIANTS])
def test_queries_do_not_grow_with_proofs(guest, version, path, django_assert_max_num_queries):
    proven.upgrade(version)
    proven.conformance(version, [proven.measure("determinism")])
    with django_assert_max_num_queries(29) as first:
        guest.page(path)
    proven.convert(version)
    for entry in ("model.opset26.onnx", "model.int8.onnx", "model.onnx"):
        proven.conformance(version, [proven.measure("bundled")], entry=entry)
    with django_assert_max_num_queries(len(first)):
        guest.page(path)


def test_tolerances_are_those_of_the_engine():
    profiles = (agreement.FP32, agreement.FP16, agreement.QUANTISED, agreement.EXACT)
    assert {profile.name for profile in profiles} == set(evidence.PROFILES)
    for profile in profiles:
        said = evidence.PROFILES[profile.name].replace(" 01", "01")
        for number in (profile.rtol, profile.atol, profile.cosine):
            assert not number or f"{number:.5f}".rstrip("0") in said, profile


def test_every_word_of_the_rows_has_words_for_people():
    assert set(ConformanceVerdict.values) <= set(conformance.OUTCOMES)
    assert set(ConformanceVerdict.labels) <= set(parts._STATES)
    assert {conformance.state(word) for word, _ in conformance.OUTCOMES.values()} <= set(
        parts._STATES
    )
    assert set(ConformanceResult.Check.values) == set(conformance.CHECKS)


def test_a_job_names_the_variant_it_made(guest, version):
    variant = proven.upgrade(version)
    html = guest.page(f"/jobs/{variant.job_uuid}")
    assert f'href="{VARIANTS}?variant=opset26">opset26: {variant.entry.path}</a>' in html
    proven.upgrade(version, b"made anew")
    assert "opset26:" not in words(guest.page(f"/jobs/{variant.job_uuid}"))
