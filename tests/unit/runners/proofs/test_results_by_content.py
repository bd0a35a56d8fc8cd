"""Results belong to content: versions with the same bytes share what was found out about them."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from registry.core import outbox
from registry.models import Version
from runners.models import Bar, ConformanceResult, Job
from runners.proofs import verification
from runners.queue import content, services
from runners.queue.job_kinds import job_kinds
from tests import factories, samples, shared
from tests.contents import (
    FEATURES,
    MODEL,
    OTHER_CARD,
    claim,
    finish,
    hide,
    jobs_of,
    kinds,
    offer,
    publish,
    state_of,
    work,
)  # fmt: skip

SHARED = {kind.name for kind in job_kinds if kind.method is not None}

pytestmark = pytest.mark.django_db


@shared.rows
def start():
    """A version with every result."""
    offer()
    version = publish(factories.somebody("ada"))
    work()
    return version


@pytest.fixture(autouse=True)
def _worker(db):
    offer()


@pytest.fixture
def first(start):
    return shared.fresh(start)


def test_a_version_that_changes_the_card_alone_has_the_results_of_the_one_before(ada):
    first = publish(ada)
    assert {"describe", "check", "conformance", "upgrade", "skeleton"} <= set(kinds(work()))
    second = publish(ada, first.model, card=OTHER_CARD)
    assert {job.state for job in jobs_of(second)} == {"succeeded"}
    assert work() == []
    assert state_of(second) == "published"
    assert ConformanceResult.objects.filter(variant__version=second).count() == 1
    assert set(jobs_of(second).values_list("shared_from__version", flat=True)) == {first.pk}
    assert set(jobs_of(second).values_list("attempt", flat=True)) == {0}


def test_versions_that_wait_together_are_worked_on_once(ada):
    versions_ = [publish(ada, factories.model(ada, name)) for name in ("one", "two", "three")]
    done = work()
    assert sorted(done) == sorted(set(done))
    assert kinds(done) == sorted({kind for kind, _ in done})
    for version in versions_:
        assert state_of(version) == "published"
        assert ConformanceResult.objects.filter(variant__version=version).count() == 1


def test_the_same_work_is_not_begun_while_it_runs(ada):
    first = publish(ada, factories.model(ada, "one"))
    second = publish(ada, factories.model(ada, "two"))
    running = claim()
    assert running.kind == "describe"
    assert claim(worker="w2", host="bench-2") is None
    finish(running)
    assert set(jobs_of(second).filter(kind="describe").values_list("shared_from", flat=True)) == {
        running.pk
    }
    assert {first.pk, second.pk} >= {running.version_id}


def test_work_that_came_to_no_verdict_is_shared_with_nobody(ada):
    publish(ada, factories.model(ada, "one"))
    publish(ada, factories.model(ada, "two"))
    running = claim()
    assert services.give_back(running, reason="crash", detail="SIGSEGV")
    other = claim()
    assert (other.kind, other.attempt) == ("describe", 1)
    assert other.pk != running.pk


def test_a_refusal_before_publishing_is_of_its_own_version(ada):
    first = publish(ada, factories.model(ada, "one"))
    finish(claim(), "failed")
    assert state_of(first) == "draft"
    second = publish(ada, factories.model(ada, "two"))
    assert kinds(work())[:2] == ["check", "conformance"]
    assert state_of(second) == "published"


def test_a_failed_verdict_is_shared_as_one(ada):
    first = publish(ada)
    outbox.deliver()
    while (job := claim()) is not None:
        finish(job, "failed" if job.kind == "upgrade" else "passed")
    second = publish(ada, first.model, card=OTHER_CARD)
    assert work() == []
    upgrade = jobs_of(second).get(kind="upgrade")
    assert (upgrade.state, upgrade.error_class) == ("failed", "deterministic")


# --- between namespaces ---


HIDDEN = [
    {"visibility": "private"},
    {"gate": "manual"},
    {"gate": "auto"},
    {"deleted_at": "2026-01-01T00:00:00Z"},
]


def trail(version):
    """Everything about a version's jobs that somebody could see."""
    rows = jobs_of(version).order_by("kind")
    return [(row.kind, row.state, row.attempt, row.shared_from_id) for row in rows]


@pytest.mark.parametrize("changes", HIDDEN)
def test_what_another_namespace_hides_changes_nothing(ada, bob, changes):
    """The walk: a hidden twin in one namespace, a public one in another, and then a third one."""
    alone = publish(
        ada, factories.model(ada, "alone"), contents={"model.onnx": samples.mlp(hidden=9)}
    )
    expected = [kind for kind, _ in work()]
    hidden = publish(ada, factories.model(ada, "hidden"))
    if "deleted_at" not in changes:
        hide(hidden, **changes)
    assert [kind for kind, _ in work()] == expected
    hide(hidden, **changes)

    public = publish(bob, factories.model(bob, "public"))
    assert jobs_of(public).get().state == "queued"
    done = work()
    assert [kind for kind, _ in done] == expected
    assert {ref for _, ref in done} == {public.ref}
    assert [row[1:] for row in trail(public)] == [row[1:] for row in trail(alone)]

    eve = factories.somebody("eve")
    third = publish(eve, factories.model(eve, "third"))
    assert work() == []
    assert set(jobs_of(third).values_list("shared_from__version", flat=True)) == {public.pk}


@pytest.mark.parametrize("changes", HIDDEN)
def test_nobody_waits_for_what_another_namespace_hides(ada, bob, changes):
    hidden = publish(ada)
    hide(hidden, **changes)
    public = publish(bob, factories.model(bob, "public"))
    first, second = claim(), claim(worker="w2", host="bench-2")
    assert {first.version_id, second.version_id} == {hidden.pk, public.pk}
    finish(first if first.version_id == hidden.pk else second)
    job = jobs_of(public).get()
    assert (job.state, job.shared_from) == ("running", None)


def test_a_draft_and_a_submitted_twin_serve_nobody_else(ada, bob):
    publish(ada)
    finish(claim())
    other = publish(bob)
    assert jobs_of(other).get().state == "queued"


def test_a_hidden_version_takes_the_results_of_a_public_one(ada, bob, first):
    model = factories.model(bob, "mine", visibility="private")
    hidden = publish(bob, model)
    assert work() == []
    assert set(jobs_of(hidden).values_list("shared_from__version", flat=True)) == {first.pk}
    assert set(jobs_of(first).values_list("shared_from", flat=True)) == {None}


# --- the key ---


def key(kind, version, **options):
    job = Job(kind=kind, version=version, entry="model.onnx", input=options)
    return content.key_of(job)


BESIDE = {
    "LICENSE": (b"words", b"other words", ()),
    "test_data_set_0/input_0.pb": (b"1", b"2", ("conformance", "benchmark", "upgrade", "convert")),
}


@pytest.mark.parametrize("path", BESIDE)
def test_the_key_is_of_what_the_work_reads(ada, path):
    before, after, changed = BESIDE[path]
    one, other = (
        factories.version(
            ada,
            factories.model(ada, name),
            {"model.onnx": MODEL, path: text},
            facts={"external_files": []},
        )
        for name, text in (("one", before), ("two", after))
    )
    # What a model is loaded from is not known before it is described.
    reads_all = {kind.name for kind in job_kinds if kind.reads_all}
    assert "describe" in reads_all
    for kind in SHARED:
        assert (key(kind, one) != key(kind, other)) == (kind in {*changed, *reads_all}), kind


def test_the_key_covers_external_data(ada):
    one, other = (
        factories.version(
            ada,
            factories.model(ada, name),
            {"model.onnx": MODEL, "weights.bin": text},
            facts={"external_files": [{"path": "weights.bin", "size": 64, "tensors": 1}]},
        )
        for name, text in (("one", b"1" * 64), ("two", b"2" * 64))
    )
    assert all(key(kind, one) != key(kind, other) for kind in SHARED)


def test_what_an_older_method_described_counts_with_all_its_files(ada):
    one, other = (
        factories.version(
            ada,
            factories.model(ada, name),
            {"model.onnx": MODEL, "weights.bin": text},
            facts={"method": 1},
        )
        for name, text in (("one", b"1"), ("two", b"2"))
    )
    assert key("conformance", one) != key("conformance", other)


OPTIONS = [
    {"runtime_version": "1.32.0"},
    {"method": 3},
    {"target": 21},
    {"recipe": "int8"},
    {"inputs": {"x": {"range": [0, 1]}}},
    {"calibration_sha256": "1" * 64},
    {"onnx_version": "1.24.0"},
    {"props": {"licence": "MIT"}},
    {"threads": 2},
    {"against_files": {"model.onnx": "2" * 64}},
]
NAMES = ("manifest_sha256", "source", "against_version", "against_variant")


def test_the_key_covers_every_option_and_no_name_of_a_version(ada):
    version = factories.version(ada)
    plain = key("upgrade", version)
    keys = {key("upgrade", version, **options) for options in OPTIONS}
    assert len(keys | {plain}) == len(OPTIONS) + 1
    assert {key("upgrade", version, **{name: "any"}) for name in NAMES} == {plain}


def test_work_for_one_person_or_on_a_draft_has_no_key(ada):
    version = factories.version(ada)
    assert {key(kind, version) for kind in ("run", "federated-check", "suite")} == {""}
    draft = factories.draft(ada, factories.model(ada, "other"))
    assert {key(kind, draft) for kind in SHARED} == {""}


# --- what no longer holds ---


def test_libraries_of_other_versions_do_the_work_again(ada, first):
    newer = {"engine": "1", "onnx": "1.23.2", "onnxruntime": "1.31.2"}
    offer(versions=newer)
    publish(ada, first.model, card=OTHER_CARD)
    job = claim(FEATURES | {"versions": newer})
    assert job.kind == "describe"


@pytest.mark.parametrize("report", [{}, {"task": "describe"}, None])
def test_a_report_that_does_not_read_is_not_shared(ada, report, first):
    jobs_of(first).filter(kind="describe").update(report=report)
    publish(ada, first.model, card=OTHER_CARD)
    assert claim().kind == "describe"


def test_a_result_whose_file_is_gone_is_not_shared(ada, first):
    job = jobs_of(first).get(kind="skeleton")
    job.report["outputs"] = [{"name": "skeleton.onnx", "sha256": "0" * 64, "size": 1}]
    job.save()
    publish(ada, first.model, card=OTHER_CARD)
    assert kinds(work()) == ["skeleton"]


def test_files_that_changed_since_the_job_was_queued_answer_no_other(ada):
    """Else other bytes could be tested under the key of these, for everybody to share."""
    version = publish(ada)
    job = claim()
    assert set(services.files_of(job)) == {"model.onnx", "README.md"}
    assert job.content_key
    Version.objects.filter(pk=version.pk).update(state="draft")
    services.files_of(job)
    assert not Job.objects.get(pk=job.pk).content_key


def test_who_asks_again_gets_the_work_done_again_and_others_the_newer_result(ada, first):
    first.refresh_from_db()
    [again] = verification.again(ada, version=first)
    assert again.state == "queued"
    assert work() == [("conformance", first.ref)]
    later = publish(ada, first.model, card=OTHER_CARD)
    assert work() == []
    assert jobs_of(later).get(kind="conformance").shared_from_id == again.pk


def test_results_outlive_the_version_that_they_were_measured_as(ada, first):
    second = publish(ada, first.model, card=OTHER_CARD)
    work()
    jobs_of(first).delete()
    assert ConformanceResult.objects.filter(variant__version=second).count() == 1
    assert all(job.is_shared for job in jobs_of(second))
    third = publish(ada, first.model, card=f"{OTHER_CARD} Again.")
    assert work() == []
    assert state_of(third) == "published"


def test_a_job_with_the_result_of_another_has_a_verdict_and_a_key(ada):
    version = publish(ada)
    job = jobs_of(version).get()
    other = Job.objects.create(kind="describe", key="1" * 64)
    for changes in ({"content_key": ""}, {"state": "queued"}, {"again": True}):
        fields = {"shared_from": other, "state": "succeeded", "content_key": "1" * 64} | changes
        with pytest.raises(IntegrityError), transaction.atomic():
            Job.objects.filter(pk=job.pk).update(**fields)


# --- what is shown ---


def test_the_source_is_shown_to_those_who_may_see_it(ada, bob, client):
    hidden = publish(ada, factories.model(ada, "hidden"))
    hide(hidden, visibility="private")
    work()
    public = publish(ada, factories.model(ada, "public"))
    assert work() == []
    job = jobs_of(public).get(kind="conformance")
    address = f"/api/v1/jobs/{job.pk}"

    told = client.get(address).json()
    assert told["shared_from"] is None
    assert told["finished_at"] < told["queued_at"]
    page = client.get(f"/jobs/{job.pk}").content.decode()
    assert "a file with the same content" in page
    assert "ada/hidden" not in page

    client.force_login(ada)
    source = jobs_of(hidden).get(kind="conformance")
    assert client.get(address).json()["shared_from"] == {
        "uuid": str(source.pk),
        "model": "ada/hidden",
        "number": 1,
    }
    page = client.get(f"/jobs/{job.pk}").content.decode()
    assert f'<a href="/jobs/{source.pk}">ada/hidden@1</a>' in page
    jobs = client.get("/api/v1/jobs").json()["items"]
    assert {row["shared_from"]["uuid"] for row in jobs if row["shared_from"]} >= {str(source.pk)}


def test_no_key_is_shown(ada, client):
    version = publish(ada)
    job = jobs_of(version).get()
    assert job.content_key
    assert job.content_key not in client.get(f"/api/v1/jobs/{job.pk}").content.decode()


def test_a_quarantine_of_the_namespace_comes_before_results_of_others(ada, bob, first):
    source = jobs_of(first).get(kind="conformance")
    version = publish(bob, factories.model(bob, "copy"), card=OTHER_CARD)
    work()
    Bar.objects.create(
        namespace=version.model.namespace,
        subject=source.subject,
        kind="conformance",
        runtime=source.runtime,
    )
    again = publish(bob, version.model)
    assert work() == []
    job = jobs_of(again).get(kind="conformance", requires__runtime="onnxruntime")
    assert (job.state, job.error_class, job.shared_from) == ("failed", "poison", None)
