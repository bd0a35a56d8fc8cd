"""Who is told of what: events of versions that were not released concern few subscribers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from metadata.models import Revision
from registry.core import events, outbox
from registry.models import Delivery, Version
from registry.versions.services import versions
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("graphs", "lists")]
ABOUT_RELEASED = {
    "metadata.graphs",
    "metadata.report",
    "provenance.attestations",
    "registry.onnx_hub",
    "registry.search",
    "runners.proofs",
}


def waiting(version):
    rows = Delivery.objects.filter(event__subject_kind="version", event__subject_id=str(version.pk))
    return set(rows.values_list("consumer", flat=True))


@pytest.mark.capability("onnx_hub")
@pytest.mark.capability("community")
@pytest.mark.capability("provenance")
@pytest.mark.capability("webhooks")
@pytest.mark.capability("packages")
def test_what_concerns_released_versions_begins_with_their_publication(ada):
    version = factories.draft(ada)
    versions.submit(ada, version=version, publish=False)
    assert waiting(version) == {"runners.jobs", "metadata.card", "packages.jobs", "webhooks"}
    factories.work()
    assert waiting(version) == set()
    version = Version.objects.get(pk=version.pk)
    assert version.state == Version.State.SUBMITTED
    versions.publish(ada, version=version)
    others = {"metadata.heirs", "metadata.collected", "metadata.successors", "provenance.log"}
    assert waiting(version) == ABOUT_RELEASED | others | {"webhooks"}


@pytest.mark.capability("onnx_hub")
@pytest.mark.capability("provenance")
def test_who_waits_for_a_release_is_told_of_it():
    told = set(outbox.consumers_of("version.published", released=True))
    assert outbox._released == ABOUT_RELEASED
    assert told >= ABOUT_RELEASED
    assert not ABOUT_RELEASED & set(outbox.consumers_of("variant.added", released=False))


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no locks of rows")
@pytest.mark.django_db(transaction=True)
def test_a_delivery_does_not_wait_for_a_frozen_holder_of_its_rows(ada):
    model = factories.draft(ada).model
    outbox.deliver()
    Revision.objects.get_or_create(pk=1)
    holder = connection.copy()
    try:
        with transaction.atomic():
            events.record("model.edited", model, actor=ada, model=model)
            # Told in its own transaction, and in one that the handler opens.
            assert {"metadata.hiding", "metadata.models"} <= set(
                Delivery.objects.values_list("consumer", flat=True)
            )
            holder.set_autocommit(False)
            with holder.cursor() as cursor:
                # So that it is a failure, and no wait for ever, where nothing bounds the wait.
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '15s'")
                cursor.execute("SELECT number FROM metadata_revision FOR UPDATE")
                assert cursor.fetchone()
        outbox.deliver()
        failed = dict(Delivery.objects.values_list("consumer", "error"))
    finally:
        holder.close()
    assert "lock timeout" in failed["metadata.hiding"]
    assert "lock timeout" in failed["metadata.models"]
    Delivery.objects.update(next_at=timezone.now())
    outbox.deliver()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(0, 2), (3, 16), (10, 2048), (11, 3600), (50, 3600)]
)
def test_what_fails_is_tried_again_after_twice_the_time_and_an_hour_at_most(
    ada, monkeypatch, attempts, seconds
):
    def fail(_subject):
        raise RuntimeError("the index is away")

    told = []
    monkeypatch.setitem(outbox._handlers, "first", fail)
    monkeypatch.setitem(outbox._handlers, "second", told.append)
    model = factories.model(ada)
    event = events.record("model.edited", model, actor=ada, model=model)
    Delivery.objects.all().delete()
    for name in ("first", "second"):
        Delivery.objects.create(event=event, consumer=name, attempts=attempts)
    before = timezone.now()
    assert outbox.deliver() == 2
    assert [subject.key for subject in told] == [str(model.pk)]
    left = Delivery.objects.get()
    assert (left.consumer, left.attempts) == ("first", attempts + 1)
    after = timezone.now()
    assert before <= left.next_at - timedelta(seconds=seconds) <= after


@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite no event can be removed")
@pytest.mark.django_db(transaction=True)
def test_what_the_commit_refuses_is_tried_again_and_stops_no_other(ada, monkeypatch):
    """References are judged when the transaction of a delivery ends."""
    model = factories.model(ada)
    event = events.record("model.edited", model, actor=ada, model=model)
    Delivery.objects.all().delete()
    served = []
    absent = event.pk + 1000
    monkeypatch.setitem(
        outbox._handlers,
        "first",
        lambda _: Delivery.objects.create(event_id=absent, consumer="first"),
    )
    monkeypatch.setitem(outbox._handlers, "second", served.append)
    for name in ("first", "second"):
        Delivery.objects.create(event=event, consumer=name)
    assert outbox.deliver() == 2
    assert len(served) == 1
    left = Delivery.objects.get()
    assert (left.consumer, left.attempts, left.event_id) == ("first", 1, event.pk)
    assert "IntegrityError" in left.error


def test_each_event_reaches_who_asks_for_each(ada, monkeypatch):
    """Beside others about the same subject, which are one for those who read its rows."""
    model = factories.model(ada)
    outbox.deliver()
    for registry in ("_handlers", "_verbs"):
        monkeypatch.setattr(outbox, registry, dict(getattr(outbox, registry)))
    for registry in ("_background", "_apart", "_released", "_each"):
        monkeypatch.setattr(outbox, registry, set(getattr(outbox, registry)))
    by_subject, by_event = [], []
    outbox.subscribe("rows", ("model.",), by_subject.append, background=True)
    outbox.subscribe("events", ("model.",), by_event.append, background=True, each=True)
    with transaction.atomic():
        made = [events.record("model.edited", model, actor=ada, model=model) for _ in range(3)]
    # The last one comes first, as where those before it wait for rows of others.
    earlier = timezone.now() - timedelta(minutes=1)
    Delivery.objects.filter(event=made[-1]).update(next_at=earlier)
    outbox.deliver()
    assert sorted(subject.event_id for subject in by_event) == [event.pk for event in made]
    assert [subject.event_id for subject in by_subject] == [made[-1].pk]


@pytest.mark.parametrize("is_apart", [False, True])
def test_an_earlier_event_that_is_committed_meanwhile_is_delivered_too(ada, monkeypatch, is_apart):
    """Of two transactions, the one whose event has the lower number may end last."""
    model = factories.model(ada)
    earlier, later = (events.record("model.edited", model, actor=ada, model=model) for _ in "12")
    Delivery.objects.all().delete()
    rows = []

    def serve(subject):
        rows.append(subject.event_id)
        if len(rows) == 1:
            Delivery.objects.create(event=earlier, consumer="rows")

    monkeypatch.setitem(outbox._handlers, "rows", serve)
    monkeypatch.setattr(outbox, "_apart", {"rows"} if is_apart else set())
    Delivery.objects.create(event=later, consumer="rows")
    outbox.deliver()
    assert rows == [later.pk, earlier.pk]
    assert not Delivery.objects.exists()
