"""The nightly dump: all public graphs, equal bytes, and never what is not public any more."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from metadata import nightly
from metadata.models import Comparison, NamedGraph
from metadata.store import dump, maintenance, services
from registry.core import outbox
from registry.core.shared_files import try_lock
from registry.models import RegisteredModel
from registry.versions.services import registered_models, versions
from tests import factories, shared


@shared.rows
def start():
    version = factories.published(factories.somebody("ada"))
    maintenance.refresh_catalogue()
    outbox.deliver()
    return version


@pytest.fixture
def published(start, db):
    return shared.fresh(start)


def text_of(found):
    return gzip.decompress(found.path.read_bytes()).decode()


def test_a_dump_holds_every_public_graph(published, ada):
    factories.published(ada, factories.model(ada, "secret", visibility="private"))
    outbox.deliver()
    made = dump.make()
    rows = NamedGraph.objects.exclude(nquads="").order_by("iri")
    assert text_of(made) == "".join(row.nquads for row in rows)
    assert (made.graphs, made.quads) == (len(rows), text_of(made).count("\n"))
    assert made.sha256 == hashlib.sha256(made.path.read_bytes()).hexdigest()
    assert "secret" not in text_of(made)
    assert dump.servable() == made


def test_equal_graphs_are_equal_bytes(published):
    first = dump.make()
    content = first.path.read_bytes()
    again = dump.make()
    assert again.sha256 == first.sha256
    assert again.path.read_bytes() == content
    assert content[4:8] == bytes(4)  # no time in the head of the file


def test_an_older_file_goes_when_a_newer_is_there(published, ada):
    first = dump.make()
    factories.published(ada, factories.model(ada, "second"))
    outbox.deliver()
    second = dump.make()
    assert not first.path.exists()
    assert sorted(path.name for path in second.path.parent.iterdir()) == sorted(
        [second.path.name, "newest.json"]
    )


def test_what_became_private_is_not_served_until_the_dump_is_new(published, ada, client):
    nightly.run_due(wait=True)
    answer = client.get("/catalog.nq.gz")
    assert answer.status_code == 200
    assert "ada/net" in gzip.decompress(b"".join(answer)).decode()
    registered_models.edit(ada, model=published.model, visibility="private")
    # Nobody was told yet: what waits to be hidden counts as well.
    assert client.get("/catalog.nq.gz").status_code == 503
    outbox.deliver()
    answer = client.get("/catalog.nq.gz")
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert "catalog.nq.gz" not in client.get("/catalog.ttl").content.decode()
    assert "dataDump" not in client.get("/.well-known/void").content.decode()
    assert nightly.due() == ["dump"]
    nightly.run_due(wait=True)
    answer = client.get("/catalog.nq.gz")
    assert answer.status_code == 200
    assert "ada/net" not in gzip.decompress(b"".join(answer)).decode()


def test_what_is_withdrawn_while_the_dump_is_written_makes_it_stale(published, ada, monkeypatch):
    texts = dump._texts

    def withdraw_meanwhile():
        yield from texts()
        versions.withdraw(ada, version=published, reason="Wrong data.")
        outbox.deliver()

    monkeypatch.setattr(dump, "_texts", withdraw_meanwhile)
    assert dump.tells_too_much(dump.make())


def test_a_part_of_the_dump_and_an_unchanged_one(published, client):
    made = dump.make()
    whole = made.path.read_bytes()
    part = client.get("/catalog.nq.gz", headers={"Range": "bytes=3-9"})
    assert (part.status_code, b"".join(part)) == (206, whole[3:10])
    assert part["Content-Type"] == "application/gzip"
    tag = part["ETag"]
    assert tag == f'"{made.sha256}"'
    assert client.get("/catalog.nq.gz", headers={"If-None-Match": tag}).status_code == 304
    head = client.head("/catalog.nq.gz")
    assert (head.status_code, head["Content-Length"]) == (200, str(len(whole)))


def test_before_the_first_dump_there_is_none(db, client):
    assert dump.newest() is None
    assert client.get("/catalog.nq.gz").status_code == 404


def test_a_failed_dump_leaves_the_old_one(published, monkeypatch):
    made = dump.make()

    def broken():
        yield "half\n"
        raise OSError("the disk is gone")

    monkeypatch.setattr(dump, "_texts", broken)
    with pytest.raises(OSError, match="gone"):
        dump.make()
    assert dump.servable() == made
    assert not list(made.path.parent.glob("*.part"))


def test_the_night_comes_once(published):
    assert set(nightly.due()) == {"comparison", "dump"}
    nightly.run_due(wait=True)
    assert [outcome.ok for outcome in map(nightly.last, nightly.TASKS)] == [True, True]
    assert nightly.due() == []
    tomorrow = timezone.now() + timedelta(days=1)
    assert set(nightly.due(tomorrow)) == {"comparison", "dump"}


def test_a_task_is_due_from_the_hour_on(published):
    nightly.run_due(wait=True)
    began = "2026-01-01T10:00:00+00:00"
    Comparison.objects.update(started_at=began)
    path = nightly._folder() / "dump.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"started_at": began}))
    assert nightly.due(datetime(2026, 1, 2, 1, 59, tzinfo=UTC)) == []
    assert set(nightly.due(datetime(2026, 1, 2, 2, 0, tzinfo=UTC))) == {"comparison", "dump"}


def test_graphs_that_differ_are_told_and_made_again(published, caplog):
    graph = NamedGraph.objects.get(version=published)
    services.put_graph(graph.iri, f"<x:a> <x:b> <x:c> <{graph.iri}> .\n", published)
    assert list(maintenance.differences())
    nightly.run_due(wait=True)
    found = nightly.last("comparison")
    assert not found.ok
    assert "1 graph differed" in found.detail
    assert list(maintenance.differences()) == []


def test_health_shows_the_last_night(published, client):
    nightly.run_due(wait=True)
    page = client.get("/health", headers={"Accept": "text/html"}).content.decode()
    assert "every graph is what its rows say" in page
    assert "statements in" in page


def test_a_task_that_breaks_is_told_and_tried_again(published, monkeypatch):
    def broken():
        raise RuntimeError("no room")

    monkeypatch.setitem(nightly.TASKS, "dump", broken)
    nightly.run_due(wait=True)
    found = nightly.last("dump")
    assert (found.ok, found.detail) == (False, "RuntimeError: no room")
    assert nightly.due() == []
    assert "dump" in nightly.due(timezone.now() + nightly.AGAIN)


def test_one_process_at_a_time(published):
    lock = nightly._folder() / "lock"
    with try_lock(lock) as first, try_lock(lock) as second:
        assert (first, second) == (True, False)
        nightly.run_due(wait=True)
    assert not any(map(nightly.last, nightly.TASKS))


def test_a_hidden_model_is_in_no_dump_however_old_the_row(published, ada):
    RegisteredModel.objects.filter(pk=published.model_id).update(visibility="private")
    maintenance.refresh_model(published.model_id, with_versions=True)
    assert "ada/net" not in text_of(dump.make())


def test_a_new_address_of_the_hub_makes_all_graphs_again(published, settings):
    nightly.run_due(wait=True)
    settings.HUB_PUBLIC_URL = "https://moved.example"
    assert set(nightly.due()) == {"comparison", "dump"}
    nightly.run_due(wait=True)
    told = NamedGraph.objects.exclude(nquads="")
    assert all(graph.iri.startswith("https://moved.example/") for graph in told)
    assert list(maintenance.differences()) == []
    assert nightly.last("comparison").ok
    assert nightly.due() == []


@pytest.mark.django_db
def test_the_first_start_of_a_hub_is_no_difference():
    NamedGraph.objects.all().delete()
    nightly.run_due(wait=True)
    assert nightly.last("comparison").ok
    assert list(maintenance.differences()) == []
