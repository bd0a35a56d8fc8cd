"""A mirror keeps the head of its source's log, and fails where the source shows another history."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from django.utils import timezone

from hub.protocol import problems
from registry.mirrors.hub_source import HubSource
from registry.mirrors.outgoing import Answer
from registry.mirrors.services import mirrors, sync
from registry.models import Mirror, SourceHead
from registry.provenance import log, selectors
from registry.provenance.models import LogHead, LogLeaf
from registry.provenance.tree import StoredTree
from tests import factories, samples, shared
from tests.api.provenance.readers import deliver, steal

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("provenance"),
    pytest.mark.capability("mirrors"),
]
SOURCE = "https://hub.example.org"


class OwnLog:
    """Answers as a source whose log is that of this hub, and that has no models."""

    url = SOURCE

    def __init__(self):
        self.asked = []

    def get(self, path, query=None):
        self.asked.append((path, dict(query or {})))
        if path == "/api/v1/log/head":
            proof = asdict(selectors.head_proof(query["since"]))
            return Answer(json.loads(json.dumps(proof)), {})
        raise problems.NotFound(f"{path} not found at {SOURCE}.")


@shared.rows
def start():
    """ada/net with two published versions."""
    ada = factories.somebody("ada")
    first = factories.version(ada)
    return first, factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=9)})


@pytest.fixture
def source(start, db, settings, tmp_path, monkeypatch):
    settings.HUB_MIRROR_SOURCES = [SOURCE]
    deliver()
    client = OwnLog()
    monkeypatch.setattr(sync, "source_of", lambda _: HubSource(client))
    return client


@pytest.fixture
def mirror(ada, source):
    return mirrors.add(ada, source=f"{SOURCE}/zoo/net", namespace=factories.namespace(ada))


def turn(mirror):
    Mirror.objects.filter(pk=mirror.pk).update(next_at=timezone.now())
    assert sync.take_turn()
    mirror.refresh_from_db()
    return mirror.error


def test_a_head_is_kept_and_followed(mirror, source, ada, start):
    first, _ = shared.fresh(start)
    assert "zoo/net" in turn(mirror)  # which the source does not have
    kept = SourceHead.objects.get(mirror=mirror)
    size = LogHead.objects.order_by("size").last().size
    assert kept.checkpoint == LogHead.objects.get(size=size).note
    factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=10)})
    deliver()
    assert "does not agree" not in turn(mirror)
    asked = [query for path, query in source.asked if path == "/api/v1/log/head"]
    assert asked == [{"since": 0}, {"since": size}]
    newest = LogHead.objects.order_by("size").last()
    assert SourceHead.objects.get(mirror=mirror).checkpoint == newest.note


def test_another_history_fails_the_mirror_and_nothing_is_fetched(mirror, source):
    turn(mirror)
    kept = SourceHead.objects.get(mirror=mirror).checkpoint
    size = LogLeaf.objects.count()
    source.asked.clear()
    # The owner of the source has its key, and signs a history in which a record is another.
    steal("UPDATE provenance_logleaf SET hash = %s WHERE position = 1", b"x" * 32)
    steal("DELETE FROM provenance_loghead WHERE size > 1")
    log._sign(log.state().signer(), size, StoredTree())
    error = turn(mirror)
    assert f"{SOURCE} does not agree with the log that this mirror saw before" in error
    assert f"does not begin with the {size} records that it had before" in error
    assert "remove this mirror and add it again" in error
    assert mirror.failures > 0
    assert [path for path, _ in source.asked] == ["/api/v1/log/head"]
    assert SourceHead.objects.get(mirror=mirror).checkpoint == kept


def test_a_log_that_is_gone_fails_the_mirror(mirror, source):
    turn(mirror)
    size = LogLeaf.objects.count()
    steal("DELETE FROM provenance_loghead")
    assert f"it shows no log now; its log had {size} records" in turn(mirror)


def test_a_source_that_never_had_a_log_is_taken_as_it_is(mirror, source):
    steal("DELETE FROM provenance_loghead")
    assert "does not agree" not in turn(mirror)
    assert not SourceHead.objects.exists()


def test_a_mirror_that_is_added_again_accepts_the_present_log(mirror, source, ada):
    turn(mirror)
    steal("DELETE FROM provenance_loghead")
    namespace = mirror.namespace
    mirrors.remove(ada, mirror=mirror)
    other = mirrors.add(ada, source=f"{SOURCE}/zoo/net", namespace=namespace)
    assert "does not agree" not in turn(other)
