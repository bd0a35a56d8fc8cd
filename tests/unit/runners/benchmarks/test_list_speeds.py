"""Speeds in lists: what they hold after every event, whose they are, and the order they make."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from hub.protocol import problems
from registry.catalogue import documents, search, speeds
from registry.catalogue.query import Query
from registry.core import cursors, outbox
from registry.models import DocumentSpeed, SearchDocument, Variant, Version
from registry.versions.services import registered_models, versions
from runners.benchmarks import contributions
from runners.models import Measurement
from tests import factories, proven, shared, timed
from tests import samples as models

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
GUEST = AnonymousUser()
HERE = speeds.Setup("example-cpu-2-cores", "onnxruntime", timed.CPU)
OTHER = {"cpu_model": "Another CPU"}
THERE = speeds.Setup("another-cpu-2-cores", "onnxruntime", timed.CPU)


def model_version(owner, name="net", **fields):
    return factories.version(owner, factories.model(owner, name, **fields))


@pytest.fixture
def version(ada):
    return model_version(ada)


def told(result):
    return (result.device, result.runtime, result.provider, result.status, result.p50_ms, result.pk)


def expected():
    """What lists should show, made anew from the results themselves, row by row."""
    found = set()
    for document in SearchDocument.objects.select_related("model"):
        rows = Version.objects.filter(model=document.model, state="published", branch="main")
        newest = max(rows, key=lambda row: row.number, default=None)
        main = Variant.objects.filter(version=newest).order_by("pk").first()
        best = {}
        for row in Measurement.objects.filter(variant=main).order_by("pk"):
            config = row.record["config"]
            usual = (config["scenario"], config["batch"], config["intra_op_threads"])
            if (
                row.origin == "contributed"
                or row.status not in ("accepted", "noisy")
                or row.entry_sha256 != main.entry.blob_id
                or usual != ("single_stream", 1, 1)
                or config["call_style"] != "run"
                or row.job.input.get("shapes")
            ):
                continue
            setup = (row.device, row.runtime, row.provider)
            if row.status == "accepted" or best.get(setup, row).status == "noisy":
                best[setup] = row
        found |= {(document.pk, *told(row)) for row in best.values()}
    return found


def stored():
    return {
        (row.document_id, row.device, row.runtime, row.provider, row.status, row.p50_ms, row.result)
        for row in DocumentSpeed.objects.all()
    }


def agrees(count):
    """After what happened is told: lists hold what the results say, and so many figures."""
    outbox.deliver()
    assert stored() == expected()
    assert DocumentSpeed.objects.count() == count


def test_they_agree_with_the_results_after_every_event(version, ada, bob):
    noisy = timed.benchmark(version, 1.0, spread=0.3)
    agrees(1)
    assert DocumentSpeed.objects.get().status == "noisy"
    first = timed.benchmark(version, 2.0)
    agrees(1)
    timed.benchmark(version, 0.5, spread=0.3)
    agrees(1)
    assert DocumentSpeed.objects.get().result == first.pk != noisy.pk
    newer = timed.benchmark(version, 3.0, environment={"runtime_version": "1.32.0"})
    agrees(1)
    assert DocumentSpeed.objects.get().result == newer.pk  # newer, though slower
    timed.benchmark(version, 4.0, environment=OTHER)
    timed.benchmark(version, 0.1, config={"batch": 4})
    timed.benchmark(version, 0.1, config={"intra_op_threads": 2})
    timed.benchmark(version, 0.1, config={"call_style": "io_binding"})
    agrees(2)
    given = timed.contributed(version, bob, 0.1)
    told = contributions.contribute(bob, version=version, text=json.dumps(given))
    (sent,) = contributions.results_of(timed.recomputed(told))
    agrees(2)
    contributions.remove(bob, version=version, row=sent)
    agrees(2)
    proven.convert(version)
    timed.benchmark(version, 0.1, variant="int8")
    agrees(2)


def test_they_are_of_the_newest_version_whatever_becomes_of_it(version, ada):
    timed.benchmark(version, 2.0)
    timed.benchmark(version, 4.0, environment=OTHER)
    agrees(2)
    again = factories.version(ada, version.model, {"model.onnx": models.mlp(hidden=5)})
    documents.refresh(version.model_id)
    agrees(0)
    timed.benchmark(again, 5.0)
    agrees(1)
    versions.yank(ada, version=again, reason="It was wrong.")
    agrees(2)
    versions.restore(ada, version=Version.objects.get(pk=again.pk))
    agrees(1)
    versions.withdraw(ada, version=Version.objects.get(pk=again.pk), reason="It was wrong.")
    agrees(2)
    assert not Measurement.objects.filter(variant__version=again).exists()
    registered_models.edit(ada, model=version.model, visibility="private")
    agrees(2)
    registered_models.delete(ada, model=version.model)
    agrees(0)


def test_shapes_that_somebody_asked_for_are_not_its_own(version):
    row = timed.benchmark(version, 2.0)
    type(row.job).objects.filter(pk=row.job_id).update(input=row.job.input | {"shapes": {"n": 9}})
    agrees_after_rebuild(0)


def agrees_after_rebuild(count):
    call_command("rebuild_lists", verbosity=0)
    agrees(count)


def test_lists_are_made_anew(version, ada):
    timed.benchmark(version, 2.0)
    agrees(1)
    DocumentSpeed.objects.update(p50_ms=9, result=0)
    SearchDocument.objects.filter(pk=version.model_id).update(size=1)
    agrees_after_rebuild(1)
    assert SearchDocument.objects.get().size > 1


def test_the_database_refuses_speeds_that_say_nonsense(version):
    document = SearchDocument.objects.get()
    fits = {
        "document": document,
        "device": "a",
        "runtime": "b",
        "status": "accepted",
        "p50_ms": 1.0,
        "result": 1,
    }
    for wrong in ({"p50_ms": 0.0}, {"status": "rejected"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            DocumentSpeed.objects.create(**(fits | wrong))
    DocumentSpeed.objects.create(**fits)
    with pytest.raises(IntegrityError), transaction.atomic():
        DocumentSpeed.objects.create(**(fits | {"status": "noisy"}))


def walked(actor, limit, setup=HERE, **more):
    query = Query.of(sort="fastest", **setup._asdict(), **more)
    seen, cursor, counts = [], "", set()
    while True:
        page = search.find(actor, query, limit=limit, cursor=cursor)
        seen += [row.title for row in page.items]
        counts.add(page.count)
        if page.next is None:
            assert counts == {len(seen)}
            return seen
        cursor = page.next


MANY = {
    "slow": 9.0,
    "private-fast": 1.0,
    "fast": 2.0,
    "as-fast": 2.0,
    "noisy": 0.1,
    "elsewhere": 0.1,
    "private-none": None,
}


@shared.rows
def start():
    """Seven models: measured here or there, noisily, as fast as another, or not; two private."""
    ada = factories.somebody("ada")
    made = []
    for name, p50 in MANY.items():
        more = {"visibility": "private"} if name.startswith("private") else {}
        version = model_version(ada, name, **more)
        if p50:
            environment = OTHER if name == "elsewhere" else {}
            spread = 0.3 if name == "noisy" else 0.0
            timed.benchmark(version, p50, spread=spread, environment=environment, deliver=False)
        documents.refresh(version.model_id)
        made.append(version)
    return made


@pytest.fixture
def many(start, db):
    return dict(zip(MANY, shared.fresh(start), strict=True))


@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
def test_measured_ones_come_first_and_noise_has_no_place(many, ada, admin, limit, few, monkeypatch):
    """Also where so few were measured that the others are found by their keys."""
    monkeypatch.setattr(speeds, "FEW", few)
    public = ["fast", "as-fast", "slow", "noisy", "elsewhere"]
    own = ["private-fast", "fast", "as-fast", "slow", "noisy", "private-none", "elsewhere"]
    assert walked(GUEST, limit) == [f"ada/{name}" for name in public]
    for somebody in (ada, admin):
        assert walked(somebody, limit) == [f"ada/{name}" for name in own]
    assert walked(GUEST, limit, THERE)[:2] == ["ada/elsewhere", "ada/noisy"]
    assert walked(GUEST, limit, text="fast") == ["ada/fast", "ada/as-fast"]


def test_a_page_goes_on_whatever_becomes_of_the_rows_before_it(many, ada):
    query = Query.of(sort="fastest", **HERE._asdict())
    page = search.find(GUEST, query, limit=2)
    timed.benchmark(many["elsewhere"], 1.0, deliver=False)
    documents.refresh(many["elsewhere"].model_id)
    rest = search.find(GUEST, query, limit=9, cursor=page.next)
    assert [row.title for row in rest.items] == ["ada/slow", "ada/noisy"]


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_what_was_measured_noisily_stands_before_what_was_not_measured(many, limit):
    """The one without a result is newer, which decides among the unmeasured alone."""
    for name, p50 in (("noisy", 0.1), ("elsewhere", 0.05)):
        timed.benchmark(many[name], p50, spread=0.3, deliver=False)
        documents.refresh(many[name].model_id)
    documents.refresh(model_version(factories.somebody("ada"), "new").model_id)
    found = walked(GUEST, limit)
    assert found[3:] == ["ada/elsewhere", "ada/noisy", "ada/new"]


def test_a_broken_place_in_the_order_is_refused(many):
    query = Query.of(sort="fastest", **HERE._asdict())
    for key in (["x", 1], [1.5, "x"], [True], [[1], 2], [1.5, 2, 3]):
        with pytest.raises(problems.InvalidRequest):
            search.find(GUEST, query, cursor=cursors.encode(key))


def test_setups_are_those_of_models_that_one_may_see(many, ada, bob, admin):
    for name in ("private-fast", "private-none"):
        timed.benchmark(many[name], 1.0, environment={"cpu_model": "Secret CPU"}, deliver=False)
        documents.refresh(many[name].model_id)
    public = [(HERE, 4), (THERE, 1)]
    for stranger in (GUEST, bob):
        offers = speeds.offers(stranger)
        assert [(offer.setup, offer.models) for offer in offers] == public
        assert speeds.settled(offers, speeds.Setup("secret-cpu-2-cores", "", "")).runtime == ""
    for somebody in (ada, admin):
        found = {offer.setup.device: offer.models for offer in speeds.offers(somebody)}
        expected = {"example-cpu-2-cores": 5, "another-cpu-2-cores": 1, "secret-cpu-2-cores": 2}
        assert found == expected


def test_a_setup_told_in_part_is_the_most_measured_one(many):
    offers = speeds.offers(GUEST)
    assert offers[0].device_title == "Example CPU, 2 cores"
    nothing = speeds.Setup("", "", "")
    assert speeds.settled(offers, nothing) == HERE
    assert speeds.settled(offers, nothing, ["another-cpu-2-cores"]) == THERE
    assert speeds.settled(offers, speeds.Setup("another-cpu-2-cores", "", "")) == THERE
    assert speeds.settled(offers, speeds.Setup("", "onnxruntime", "")) == HERE
    strange = speeds.Setup("no-such-device", "onnxruntime", "")
    assert speeds.settled(offers, strange) == strange
    assert speeds.settled([], nothing) == nothing


def test_what_is_hidden_leaves_the_kept_setups(many, ada, events_delivered):
    assert len(speeds.offers(GUEST)) == 2
    with events_delivered():
        registered_models.edit(ada, model=many["elsewhere"].model, visibility="private")
    assert [offer.setup for offer in speeds.offers(GUEST)] == [HERE]


def test_the_order_asks_as_much_whatever_there_is(many, ada):
    query = Query.of(sort="fastest", **HERE._asdict())

    def asked(actor):
        with CaptureQueriesContext(connection) as questions:
            page = search.find(actor, query, limit=4)
            speeds.of_documents([row.pk for row in page.items], HERE)
        return len(questions)

    before = asked(GUEST), asked(ada)
    for index in range(4):
        version = model_version(ada, f"more-{index}")
        timed.benchmark(version, 3.0, deliver=False)
        documents.refresh(version.model_id)
    after = asked(GUEST), asked(ada)
    assert after[0] <= before[0] <= 7
    assert after[1] <= before[1] <= 12
