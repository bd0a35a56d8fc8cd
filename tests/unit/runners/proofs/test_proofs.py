"""Proofs after publishing: what is owed, what reports become, what is shown of them."""

from __future__ import annotations

import io
import uuid
from collections import Counter
from dataclasses import replace
from importlib import import_module

import pytest
from django.apps import apps
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from hub.protocol import generation, packages, problems, proofs
from hub.protocol.proofs import Branch
from hub.protocol.runtime_builds import PORTABLE
from registry.core import outbox
from registry.models import File, SearchDocument, Variant
from registry.versions import selectors
from registry.versions.services import derivatives
from runners.engine import costs
from runners.engine.conformance import METHOD as CONFORMANCE_METHOD
from runners.engine.evaluation import rules
from runners.engine.onnx_files import describe
from runners.engine.reports import OutputFile, Report
from runners.models import ConformanceResult, Job, MethodSet, Runtime, SuiteResult, SuiteRun, Worker
from runners.proofs import derivations, results, verification
from runners.proofs import selectors as proof_selectors
from runners.queue import services
from runners.worker_features import WorkerFeatures
from tests import factories, proven, shared
from tests.proven import PROOF, SAMPLED

pytestmark = pytest.mark.django_db

FEATURES = {
    "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
    "runtimes": {"onnxruntime": {}, "onnx-reference": {}},
}
FACTS = factories.FACTS | {"opset": 26, "precision": "fp32", "external_files": []}


@shared.rows
def start():
    """A version that is owed its proofs on the runtimes that a worker offers."""
    offer()
    return factories.published(factories.user("ada"))


@pytest.fixture
def version(start, db):
    offer()
    return shared.fresh(start)


@pytest.fixture
def owner(db):
    return factories.somebody("ada")


def offer():
    """A worker that was seen just now offers two runtimes."""
    services.see("w1", host="h", pool="cpu", features=FEATURES)
    verification.register()
    return verification.current()


@pytest.fixture
def runtimes(db):
    return offer()


def waiting(kind=None):
    rows = Job.objects.filter(state=Job.State.QUEUED)
    return list(rows.filter(kind=kind) if kind else rows.order_by("kind"))


def end(job, report):
    """Claim and finish one job as a worker that offers everything would."""
    taken = services.claim("w1", ["cpu"], uuid=job.pk, features=WorkerFeatures.read(FEATURES))
    assert taken is not None
    assert services.finish(taken, report)
    outbox.deliver()


def upgraded(content=b"another model", target=26, proof=PROOF):
    sha256, size = derivatives.store_bytes(io.BytesIO(content))
    return Report(
        task="upgrade",
        versions={"onnx": "1.23.2"},
        subject="0" * 64,
        outcome="passed",
        facts={
            "source": 17,
            "target": target,
            "rules": ["Hardmax"],
            "steps": [{"target": target, "result": "equal", "reason": "", "blocking": []}],
            "changed": True,
            "described": FACTS | {"opset": target},
            "parity": {"max_abs": 0.0},
            **({"proof": proof.to_json()} if proof else {}),
        },
        outputs=[OutputFile(f"model.opset{target}.onnx", sha256, size)],
    )


def conformance(
    runtime="onnxruntime", version="1.31.1", outcome="passed", outputs=(), checks=None, **more
):
    return Report(
        task="conformance",
        versions={"onnx": "1.23.2"},
        subject="0" * 64,
        outcome="failed" if outcome == "failed" else "passed",
        measures=[
            {
                "runtime": runtime,
                "runtime_version": version,
                "check": check,
                "outcome": outcome,
                "blames": "",
                "reason": "",
                "profile": "fp32",
                "datasets": 1,
                "seconds": 0.1,
                "outputs": [{"name": "y", "max_abs": 0.0}],
                "node": None,
                "evidence": "",
                **more,
            }
            for check in checks or proof_selectors.CHECKS
        ],
        outputs=list(outputs),
    )


def test_a_published_version_gets_an_upgrade_and_every_runtime_once(owner, version):
    kinds = sorted(
        (job.kind, job.input["runtime"], job.input.get("checks", [])) for job in waiting()
    )
    assert kinds == [
        ("conformance", "onnx-reference", []),
        ("conformance", "onnxruntime", ["bundled", "optimisation", "determinism"]),
        ("conformance", "onnxruntime", ["reference"]),
        ("upgrade", "onnxruntime", []),
    ]
    assert verification.schedule_missing(version) == 0
    for job in waiting():
        assert job.requires == {"runtime": job.input["runtime"]}


@pytest.mark.usefixtures("lists")
def test_what_was_described_by_an_older_method_is_described_again(owner, version):
    rows = Variant.objects.filter(version=version)
    rows.update(facts=FACTS | {"method": 1, "parameters": 10}, parameters=10)
    version.checks.filter(kind="onnx").update(outcome="failed")
    assert verification.schedule_missing(version) == 1
    assert verification.schedule_missing(version) == 0
    (job,) = waiting("describe")
    facts = FACTS | {"parameters": None}
    report = Report(
        task="describe", versions={}, subject="0" * 64, outcome="passed", facts=facts
    )  # fmt: skip
    end(job, report)
    variant = rows.get()
    assert (variant.parameters, variant.facts["method"]) == (None, FACTS["method"])
    document = SearchDocument.objects.get(model=version.model)
    assert (document.parameters, document.latest["parameters"]) == (None, None)
    assert waiting("check") == []
    assert version.checks.get(kind="onnx").outcome == "failed"
    assert verification.schedule_missing(version) == 0


def test_nothing_is_scheduled_where_no_worker_offers_a_runtime(owner):
    factories.published(owner)
    assert waiting() == []


def test_a_new_runtime_version_is_scheduled_for_old_versions_and_old_results_stay(owner, version):
    for job in waiting("conformance"):
        version_of = {"onnxruntime": "1.31.1", "onnx-reference": "1.23.2"}
        name = job.input["runtime"]
        end(job, conformance(name, version_of[name], checks=job.input.get("checks")))
    newer = FEATURES | {"versions": {"onnx": "1.23.2", "onnxruntime": "1.32.0"}}
    services.see("w1", host="h", pool="cpu", features=newer)
    verification.register()
    while verification.catch_up():
        pass
    [check] = waiting("check")
    assert check.input["runtime_version"] == "1.32.0"
    assert check.priority == verification.LATER
    again = waiting("conformance")
    assert [(job.input["runtime"], job.input["runtime_version"]) for job in again] == [
        ("onnxruntime", "1.32.0")
    ] * 2
    for job in again:
        checks = job.input["checks"]
        end(job, conformance("onnxruntime", "1.32.0", "failed", checks=checks))
    shown = {
        (row.runtime, row.check_kind): (row.runtime_version, row.outcome)
        for row in proof_selectors.results_of(version)
    }
    assert shown["onnxruntime", "bundled"] == ("1.32.0", "failed")
    assert len(shown) == 8
    assert len(proof_selectors.results_of(version, with_history=True)) == 12
    newest = next(r for r in proof_selectors.results_of(version) if r.runtime_version == "1.32.0")
    assert [row.runtime_version for row in proof_selectors.history_of(newest)] == [
        "1.32.0",
        "1.31.1",
    ]


def test_a_runtime_that_comes_back_after_weeks_looks_at_everything_again(owner, runtimes):
    Runtime.objects.update(
        caught_up_at=timezone.now(), cursor=99, seen_at=timezone.now() - 2 * verification.RETIRED
    )
    assert verification.current() == []
    verification.register()
    assert {(row.cursor, row.caught_up_at) for row in Runtime.objects.all()} == {(0, None)}


def test_an_upgrade_becomes_a_variant_beside_the_original(owner, version):
    manifest, tree = version.manifest_sha256, version.tree_id
    end(waiting("upgrade")[0], upgraded())
    variant = Variant.objects.get(version=version, name="opset26")
    assert variant.derived_from.name == "default"
    assert variant.entry.path == "model.opset26.onnx"
    assert variant.entry.derived
    assert variant.derivation["rules"] == ["Hardmax"]
    version.refresh_from_db()
    assert (version.manifest_sha256, version.tree_id) == (manifest, tree)
    assert selectors.variant(version, None, 26, None) == variant
    assert selectors.variant(version, None, None, None).name == "default"
    paths = {file.path for file in selectors.files_for(variant)}
    assert "model.opset26.onnx" in paths
    assert "model.onnx" not in paths
    assert "README.md" in paths
    default = selectors.variant(version, "default", None, None)
    assert "model.opset26.onnx" not in {file.path for file in selectors.files_for(default)}
    asked = {(job.kind, job.entry) for job in waiting()}
    assert ("conformance", "model.opset26.onnx") in asked
    # The reference judges derived files; it is tested on uploaded ones alone.
    tested = [job.input["runtime"] for job in waiting("conformance") if job.entry != "model.onnx"]
    assert tested == ["onnxruntime"]
    assert ("upgrade", "model.opset26.onnx") not in asked
    history = proof_selectors.upgrade_histories(version)[0]
    assert history.preferred == variant
    assert [(target.opset, target.outcome) for target in history.targets] == [(26, "equal")]


def test_one_upgrade_may_make_a_variant_that_is_newer_than_some_runtimes_load(owner, version):
    newest, portable = proven.upgrades(version, {28: b"newest", 26: b"portable"})
    assert [(row.name, row.is_portable) for row in (newest, portable)] == [
        ("opset28", False), ("opset26", True),
    ]  # fmt: skip
    assert (newest.entry.path, portable.entry.path) == ("model.opset28.onnx", "model.opset26.onnx")
    assert [len(row.derivation["figures"]) for row in (newest, portable)] == [1, 1]
    history = proof_selectors.upgrade_histories(version)[0]
    assert history.preferred == portable
    assert [target.opset for target in history.targets] == [28, 26]
    assert selectors.variant(version, None, 28, None) == newest
    assert proof_selectors.made_by(Job.objects.get(pk=newest.job_uuid)) == [newest, portable]


def test_an_upgrade_is_asked_for_the_opset_that_every_runtime_loads(version):
    assert waiting("upgrade")[0].input["portable"] == PORTABLE.opset


PARTIAL = replace(PROOF, branches=(Branch("If_3", "If", "else_branch", 2, taken=False),), ran=120)


@pytest.mark.parametrize(
    ("proof", "strength", "reason"),
    [
        (PARTIAL, "partial", "else_branch of 'If_3' (If) never entered"),
        (None, "earlier-method", "recorded by an older method"),
        (SAMPLED, "sampled", 'Ask for strength="sampled", or load it by name'),
    ],
)
def test_an_upgrade_without_enough_proof_is_loaded_by_its_name_alone(
    owner, version, proof, strength, reason
):
    end(waiting("upgrade")[0], upgraded(proof=proof))
    variant = Variant.objects.get(version=version, name="opset26")
    assert (variant.proof_strength, variant.is_chosen) == (strength, False)
    with pytest.raises(problems.VariantMissing, match="but its proof is only") as refusal:
        selectors.variant(version, None, 26, None)
    assert reason in str(refusal.value)
    assert "ada/net@1:opset26" in str(refusal.value)
    assert selectors.variant(version, None, 17, None).name == "default"
    assert selectors.variant(version, "opset26", None, None) == variant
    assert proof_selectors.upgrade_histories(version)[0].preferred is None


def test_the_evidence_is_stored_with_the_variant(owner, version):
    end(waiting("upgrade")[0], upgraded())
    variant = Variant.objects.get(version=version, name="opset26")
    assert (variant.proof_strength, variant.statement) == ("certified", PROOF)
    assert "proof" not in variant.derivation


@pytest.mark.parametrize("changes", [{"proof_strength": ""}, {"proof": None}])
def test_the_database_holds_no_upgrade_without_its_proof(owner, version, changes):
    end(waiting("upgrade")[0], upgraded())
    rows = Variant.objects.filter(version=version, name="opset26")
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.update(**changes)
    with pytest.raises(IntegrityError), transaction.atomic():
        Variant.objects.filter(version=version, name="default").update(proof_strength="sampled")


@pytest.mark.parametrize(
    ("stored", "judges", "strength"),
    [
        ("full", ["original"], "sampled"),
        ("schema", ["original", "reference"], "sampled"),
        ("schema", ["schema-registry"], "schema"),
        ("partial", ["original"], "partial"),
    ],
)
def test_proofs_by_runs_of_before_become_sampled(owner, version, stored, judges, strength):
    end(waiting("upgrade")[0], upgraded())
    row = Variant.objects.filter(version=version, name="opset26")
    evidence = PROOF.to_json() | {"judges": judges, "method": 2}
    row.update(proof_strength=stored, proof=evidence)
    import_module("registry.migrations.0004_strengths_of_proofs").rename(apps, None)
    assert row.values_list("proof_strength", "proof").get() == (strength, evidence)


def test_what_an_older_method_proved_is_scheduled_again(owner, version):
    (job,) = waiting("upgrade")
    assert verification.schedule_missing(version) == 0
    given = {key: value for key, value in job.input.items() if key != "method"}
    Job.objects.filter(pk=job.pk).update(input=given)
    assert verification.schedule_missing(version) == 1


def caught_up():
    """Catch up with a version, and how many jobs that queued."""
    return sum(verification.catch_up() for _ in range(3))


def behind():
    rows = (model.objects.filter(caught_up_at=None) for model in (Runtime, MethodSet))
    return any(query.exists() for query in rows)


@pytest.fixture
def upgraded_by_method_2(owner, version, monkeypatch):
    """A version whose upgrades are of METHOD 2, on a hub that has caught up with it."""
    with monkeypatch.context() as before:
        before.setattr(proofs, "METHOD", 2)
        Job.objects.filter(kind="upgrade").delete()
        verification.schedule_missing(version)
        derivations.request(owner, version=version, kind="upgrade", opset=21)
        old = replace(SAMPLED, method=2)
        for job in waiting("upgrade"):
            end(job, upgraded(target=job.input["target"] or 26, proof=old))
    Runtime.objects.update(caught_up_at=timezone.now())
    MethodSet.objects.create(methods="describe 4, upgrade 2", caught_up_at=timezone.now())
    assert waiting("upgrade") == []
    return version


def test_a_new_method_is_scheduled_for_old_versions_without_a_new_runtime(upgraded_by_method_2):
    assert caught_up() == 2
    jobs = sorted(waiting("upgrade"), key=lambda job: job.input["target"] or 0)
    assert [(job.input["target"], job.input["method"], job.priority) for job in jobs] == [
        (target, proofs.METHOD, verification.LATER) for target in (None, 21)
    ]
    assert (caught_up(), behind()) == (0, False)
    end(jobs[0], upgraded())
    end(jobs[1], upgraded(target=21))
    strengths = Variant.objects.filter(origin="upgraded").values_list("proof_strength", flat=True)
    assert set(strengths) == {"certified"}
    assert waiting("upgrade") == []


def test_kinds_with_a_method_of_their_own_are_caught_up(owner):
    caught_up()
    of_packages = f"generation {generation.METHOD}, package {packages.METHOD}"
    assert set(MethodSet.objects.values_list("methods", flat=True)) == {
        f"conformance {CONFORMANCE_METHOD}, describe {describe.METHOD}, upgrade {proofs.METHOD}",
        f"evaluation {rules.METHOD}",
        f"skeleton {costs.METHOD}",
        *([of_packages] if "packages" in settings.HUB_CAPABILITIES else []),
    }


def test_a_version_without_a_result_of_before_is_left_alone(owner):
    factories.published(owner)
    assert caught_up() == 0
    assert waiting() == []


def test_proofs_are_given_what_the_card_declares_of_inputs(owner, version):
    declared = {"x": {"shape": [1, 576]}}
    version.card = version.card | {"inputs": declared}
    source = version.variants.get(origin=Variant.Origin.UPLOADED)
    assert verification.upgrade_options(source)["inputs"] == declared
    jobs = verification.again(owner, version=version)
    assert [job.input["inputs"] for job in jobs] == [declared, declared]
    version.card = {"inputs": "any"}
    assert "inputs" not in verification.upgrade_options(source)


def test_a_file_is_fed_what_its_part_of_the_card_declares(version):
    own, common = {"shape": [1, 3, 48, 192]}, {"range": [0, 1]}
    source = version.variants.get(origin=Variant.Origin.UPLOADED)
    parts = {source.entry.path: {"inputs": {"x": own}}, "other.onnx": {"inputs": {"z": own}}}
    version.card = {"inputs": {"x": common, "y": common}, "parts": parts}
    upgraded = Variant(version=version, derived_from=source)
    for variant in (source, upgraded):
        assert variant.input_options == {"inputs": {"x": own, "y": common}}


def test_another_result_of_the_same_name_moves_the_variant_and_keeps_the_old_file(owner, version):
    end(waiting("upgrade")[0], upgraded())
    job = derivations.request(owner, version=version, kind="upgrade", opset=26)
    end(job, upgraded(b"yet another"))
    variant = Variant.objects.get(version=version, name="opset26")
    assert variant.job_uuid == job.pk
    assert variant.entry.path != "model.opset26.onnx"
    assert File.objects.filter(version=version, path="model.opset26.onnx").exists()


def test_a_report_without_outputs_makes_no_variant(owner, version):
    report = upgraded()
    unchanged = Report(
        **{name: getattr(report, name) for name in Report.__slots__} | {"outputs": []}
    )
    end(waiting("upgrade")[0], unchanged)
    assert Variant.objects.filter(version=version).count() == 1


def test_a_converted_variant_is_chosen_by_name_or_precision_only(owner, version):
    job = derivations.request(owner, version=version, kind="int8")
    assert job.input["recipe"] == "int8"
    report = upgraded(target=17)
    facts = report.facts | {
        "recipe": "int8",
        "sizes": {"before": 10, "after": 3},
        "described": FACTS | {"opset": 17, "precision": "int8"},
    }
    outputs = [replace(report.outputs[0], name="model.int8.onnx")]
    end(
        job,
        Report(
            task="convert", versions={}, subject="0" * 64, outcome="passed", facts=facts,
            outputs=outputs,
        ),
    )  # fmt: skip
    assert selectors.variant(version, None, 17, None).name == "default"
    assert selectors.variant(version, "int8", None, None).origin == "converted"
    assert selectors.variant(version, None, None, "int8").name == "int8"


def test_only_maintainers_ask_for_variants_and_only_of_what_is_public(owner, version):
    with pytest.raises(problems.Problem):
        derivations.request(factories.user("eve"), version=version, kind="int8")
    with pytest.raises(problems.Problem):
        verification.again(factories.user("bob"), version=version)
    draft = factories.draft(owner, version.model)
    with pytest.raises(problems.StateConflict):
        derivations.request(owner, version=draft, kind="int8")
    with pytest.raises(problems.InvalidRequest):
        derivations.request(owner, version=version, kind="int4")
    with pytest.raises(problems.InvalidRequest):
        derivations.request(owner, version=version, kind="fp16", calibration="sha256:" + "0" * 64)
    with pytest.raises(problems.BlobUnknown):
        derivations.request(
            owner, version=version, kind="int8-qdq", calibration="sha256:" + "0" * 64
        )


def test_conformance_is_written_once_with_its_evidence(owner, version):
    job = next(job for job in waiting("conformance") if job.input["runtime"] == "onnxruntime")
    sha256, size = derivatives.store_bytes(io.BytesIO(b"PK a zip"))
    report = conformance(
        outcome="failed",
        outputs=[OutputFile("diverging-Conv.zip", sha256, size)],
        evidence="diverging-Conv.zip",
        blames="runtime",
    )
    end(job, report)
    job.refresh_from_db()
    assert results.take_conformance(job) == 0
    rows = ConformanceResult.objects.filter(job=job)
    assert rows.count() == 4
    assert {row.evidence.path for row in rows} == {f"evidence/{sha256[:8]}-diverging-Conv.zip"}
    matrix = proof_selectors.matrices(version)[0]
    assert [column.runtime for column in matrix.columns] == ["onnx-reference", "onnxruntime"]
    assert Counter(cell.word for cell in matrix.cells) == {"failed": 4, "queued": 4}


def test_checks_that_one_job_has_done_are_not_scheduled_twice(owner, version):
    own = Job.objects.filter(kind="conformance", input__runtime="onnxruntime")
    assert own.count() == 2
    own.filter(input__checks=["reference"]).delete()
    [job] = own
    Job.objects.filter(pk=job.pk).update(
        input={name: value for name, value in job.input.items() if name != "checks"}
    )
    assert verification.schedule_missing(version) == 0


def test_a_check_that_is_not_done_shows_the_state_of_its_own_job(owner, version):
    quick = next(job for job in waiting("conformance") if len(job.input.get("checks", ())) == 3)
    end(quick, conformance(checks=quick.input["checks"]))
    matrix = proof_selectors.matrices(version)[0]
    assert {check: cells[1].word for check, cells in matrix.rows} == {
        "bundled": "passed",
        "reference": "queued",
        "optimisation": "passed",
        "determinism": "passed",
    }


def test_the_suite_is_scheduled_once_a_runtime_has_settled(runtimes):
    assert verification.schedule_suite() == 0
    Runtime.objects.update(first_seen_at=timezone.now() - 2 * verification.SETTLED)
    assert verification.schedule_suite() == 2 * verification.SUITE_PARTS
    assert verification.schedule_suite() == 0
    for job in waiting("suite"):
        case = f"test_abs_{job.input['part']}"
        outcome = "failed" if job.input["part"] == 3 else "passed"
        measure = {"case": case, "operator": "Abs", "opset": 13, "outcome": outcome, "reason": ""}
        report = Report(
            task="suite", versions={}, subject="0" * 64, outcome="passed", measures=[measure]
        )
        end(job, report)
    assert SuiteRun.objects.exclude(finished_at=None).count() == 2
    shown = proof_selectors.score("onnxruntime", "1.31.1")
    assert shown.cases == verification.SUITE_PARTS
    assert shown.totals["failed"] == 1
    assert proof_selectors.by_operator(shown.run) == [("Abs", shown.totals)]
    other = SuiteRun.objects.create(
        runtime="onnxruntime", runtime_version="1.30.0", onnx_version="1.23.2", parts=1
    )
    SuiteResult.objects.create(
        run=other, case="test_abs_3", operator="Abs", opset=13, outcome="passed"
    )
    changed = proof_selectors.suite_changes(other, shown.run)
    assert ("Abs", "test_abs_3", "passed", "failed") in changed
    assert ("Abs", "test_abs_0", "absent", "passed") in changed


def test_a_worker_of_another_runtime_is_noted_by_its_own_version(db):
    services.see(
        f"ov-{uuid.uuid4()}",
        host="h",
        pool="cpu.openvino",
        features={
            "versions": {"onnx": "1.23.2", "openvino": "2026.4.1"},
            "runtimes": {"openvino": {}},
        },
    )
    assert verification.offered() == {("openvino", "2026.4.1"): "1.23.2"}
    assert Worker.objects.count() == 1


def test_a_derived_variant_of_an_older_method_is_described_again(owner, version):
    """It gets other facts, and keeps its name, its origin and what it was made by."""
    end(waiting("upgrade")[0], upgraded())
    before = Variant.objects.get(version=version, name="opset26")
    old = before.facts | {"method": describe.METHOD - 1, "parameters": 7}
    Variant.objects.filter(pk=before.pk).update(facts=old, parameters=7)
    assert verification.schedule_missing(version) >= 1
    (job,) = [job for job in waiting("describe") if job.entry == before.entry.path]
    facts = old | {"method": describe.METHOD, "parameters": 5}
    end(job, Report("describe", {}, "0" * 64, "passed", facts=facts))
    after = Variant.objects.get(pk=before.pk)
    assert (after.parameters, after.typed_facts.method) == (5, describe.METHOD)
    assert Variant.objects.filter(version=version).count() == 2
    for name in ("name", "origin", "entry_id", "derivation", "proof", "job_uuid", "precision"):
        assert getattr(after, name) == getattr(before, name)
    assert not [job for job in waiting("describe") if job.entry == before.entry.path]
