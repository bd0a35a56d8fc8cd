"""The transparency log: what it records, what it proves, and who may open what."""

from __future__ import annotations

import json

import pytest
from django.db import IntegrityError, connection, transaction

from hub.protocol import problems
from hub.protocol.transparency import merkle, notes, proofs
from hub.protocol.transparency.notes import Checkpoint, Note, Verifier
from hub.protocol.transparency.records import Record, RecordKind, VersionProof, entry_of
from registry.models import Delivery
from registry.provenance import keys, log
from registry.provenance.models import CONSUMER, LogHead, LogLeaf, LogNode, SigningKey
from registry.provenance.tree import StoredTree
from registry.versions.services import refs, registered_models, versions
from tests import factories, samples, shared
from tests.api.provenance.readers import Reader, deliver, sign_no_results, steal

pytestmark = [pytest.mark.django_db, pytest.mark.capability("provenance")]
V1 = "models/ada/net/versions/1"


@shared.rows
def start():
    """ada/net with two published versions."""
    ada = factories.somebody("ada")
    with pytest.MonkeyPatch.context() as patched:
        sign_no_results(patched)
        first = factories.version(ada)
        return first, factories.version(ada, first.model, {"model.onnx": samples.mlp(hidden=9)})


@pytest.fixture(autouse=True)
def _no_results(monkeypatch):
    """Nothing but what these tests do is in the log."""
    sign_no_results(monkeypatch)


@pytest.fixture
def rows(start, db):
    first, second = shared.fresh(start)
    deliver()
    return first, second


@pytest.fixture
def reader(rows, tmp_path):
    made = Reader(tmp_path / "cache")
    made.resolve("ada/net")
    assert made.size == LogHead.objects.order_by("size").last().size
    return made


def test_a_change_that_waits_for_its_record_is_no_difference(api, ada, rows):
    """A version is shown before its event is delivered, and its proof a moment later."""
    versions.yank(ada, version=rows[0], reason="wrong")
    answer = api().get(f"{V1}/log")
    assert answer.status_code == 503, answer.content
    assert answer.headers["Retry-After"] == "1"
    deliver()
    assert kinds(api()) == ["version.published", "version.yanked"]


def checkpoint(client):
    note = Note.parse(client.get("log/checkpoint").content.decode())
    client_keys = client.get("/.well-known/model-hub-log-keys").content.decode().split()
    notes.any_of(note, map(Verifier.parse, client_keys))
    return Checkpoint.parse(note.text)


def kinds(client, path=V1):
    proof = VersionProof.read(client.get(f"{path}/log").json())
    return [record.kind.value for record in proofs.verify(proof, None).records]


def test_a_published_version_is_in_the_next_head(api, rows):
    guest = api()
    assert kinds(guest) == ["version.published"]
    proof = VersionProof.read(guest.get(f"{V1}/log").json())
    verified = proofs.verify(proof, None)
    assert verified.is_signed
    assert list(proofs.differences(proof, verified)) == []
    (record,) = verified.records
    assert (record.model, record.number) == ("ada/net", 1)
    assert record.digest == f"sha256:{rows[0].manifest_sha256}"
    assert verified.head == checkpoint(guest)
    assert verified.head.origin == "testserver/log"
    link = guest.get("resolve?ref=ada/net@1")["Link"]
    assert link == (
        '</api/v1/models/ada/net/versions/1/log>; rel="http://www.w3.org/ns/prov#has_provenance", '
        "</api/v1/models/ada/net/versions/1/attestations>; "
        'rel="https://in-toto.io/Statement/v1"'
    )


def test_what_happens_to_a_version_is_recorded(api, ada, rows):
    first, _ = rows
    versions.yank(ada, version=first, reason="wrong labels")
    deliver()
    versions.restore(ada, version=first)
    deliver()
    versions.withdraw(ada, version=first, reason="a secret in it")
    deliver()
    assert kinds(api()) == [
        "version.published", "version.yanked", "version.restored", "version.withdrawn"
    ]  # fmt: skip


def test_tiles_give_the_tree_of_the_head(api, rows):
    guest = api()
    head = checkpoint(guest)
    width = head.size
    tile = guest.get(f"log/tile/0/000.p/{width}").content
    hashes = [tile[at : at + 32] for at in range(0, len(tile), 32)]
    node = lambda level, index: merkle.fold(hashes[index << level : (index + 1) << level])  # noqa: E731
    assert merkle.root(node, head.size) == head.root
    entries = guest.get(f"log/tile/entries/000.p/{width}").content
    assert [entries[at : at + 2] for at in range(0, len(entries), 34)] == [b"\0\x20"] * width
    leaves = [merkle.leaf_hash(entries[at + 2 : at + 34]) for at in range(0, len(entries), 34)]
    assert leaves == hashes
    for missing in ("0/000", "0/001.p/1", "1/000.p/1", f"0/000.p/{width + 1}", "0/000.p/0"):
        assert guest.get(f"log/tile/{missing}").status_code == 404, missing


def test_large_trees_are_stored_by_tiles(rows):
    entry = log.Entry(
        Record(RecordKind.MODEL_MOVED, "2026-11-28T12:00:00+00:00", "a/b", name="c/d")
    )
    for count in (255, 1, 300, 66_000):
        log.append([entry] * count)
    leaves = [merkle.leaf_hash(row.entry) for row in LogLeaf.objects.order_by("position")]
    node = lambda level, index: merkle.fold(leaves[index << level : (index + 1) << level])  # noqa: E731
    head = Checkpoint.parse(Note.parse(LogHead.objects.order_by("size").last().note).text)
    assert (head.size, head.root) == (len(leaves), merkle.root(node, len(leaves)))
    assert LogNode.objects.filter(level=1).count() == len(leaves) // 256
    assert LogNode.objects.filter(level=2).count() == 1


@pytest.mark.parametrize("table", ["logleaf", "lognode", "loghead"])
@pytest.mark.parametrize(
    "change", ["UPDATE provenance_{} SET {} = {}", "DELETE FROM provenance_{}"]
)
def test_the_log_is_append_only(rows, table, change):
    LogNode.objects.create(level=1, position=0, hash=b"a" * 32)
    column = {"logleaf": "record", "lognode": "hash", "loghead": "note"}[table]
    statement = change.format(table, column, column)
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(IntegrityError), transaction.atomic():
        LogLeaf.objects.create(position=999, hash=b"", salt=b"", record="", kind="key")


def test_private_records_are_opened_by_members_alone(api, ada, bob, rows):
    registered_models.edit(ada, model=rows[0].model, visibility="private")
    guest, member, stranger = api(), api(ada), api(bob)
    assert kinds(member) == ["version.published"]
    for other in (guest, stranger):
        assert other.get(f"{V1}/log").status_code == 404
        shown = other.get("log/records?limit=100").json()["items"]
        assert [json.loads(row["record"])["kind"] for row in shown] == ["key"]
    assert len(member.get("log/records").json()["items"]) == 3
    registered_models.edit(ada, model=rows[0].model, visibility="public")
    assert kinds(guest) == ["version.published"]
    for row in guest.get("log/records").json()["items"]:
        leaf = LogLeaf.objects.get(position=row["position"])
        assert leaf.entry == entry_of(bytes.fromhex(row["salt"]), row["record"].encode())


def test_logs_with_and_without_a_private_model_differ_in_random_leaves_alone(api, bob, rows):
    """Two hubs, with and without a private model: what a guest can read is the same but a count."""

    def published():
        records = api().get("log/records").json()["items"]
        head = checkpoint(api())
        entries = api().get(f"log/tile/entries/000.p/{head.size}").content
        leaves = [entries[at : at + 34] for at in range(0, len(entries), 34)]
        return head, leaves, [json.loads(row["record"]) for row in records]

    without, leaves, records = published()
    private = factories.model(bob, "secret", visibility="private")
    factories.version(bob, private)
    deliver()
    with_, more, same = published()
    assert same == records
    assert (without.size, with_.size) == (3, 4)
    assert more[:3] == leaves
    # 32 bytes after their length, as all others, which nothing but the salt leads to.
    assert (len(more[3]), more[3][:2]) == (34, b"\0\x20")
    row = LogLeaf.objects.get(position=3)
    assert json.loads(row.record)["model"] == "bob/secret"
    assert len(set(map(bytes, LogLeaf.objects.values_list("salt", flat=True)))) == 4
    assert more[3][2:] != entry_of(b"", row.record.encode())
    assert more[3][2:] == entry_of(bytes(row.salt), row.record.encode())


def test_a_reader_follows_a_log_that_grows(ada, rows, reader):
    before = reader.size
    factories.version(ada, rows[0].model, {"model.onnx": samples.mlp(hidden=10)})
    deliver()
    assert reader.resolve("ada/net").number == 3
    assert reader.size == before + 1


def test_a_hub_without_a_head_here_and_without_a_log_is_taken_as_it_is(rows, tmp_path, api):
    steal("DELETE FROM provenance_loghead")
    reader = Reader(tmp_path / "other")
    assert reader.resolve("ada/net").number == 2
    assert reader.head is None
    assert "Link" not in api().get("resolve?ref=ada/net").headers


def test_a_reader_refuses_a_log_that_is_gone(reader):
    steal("DELETE FROM provenance_loghead")
    with pytest.raises(problems.RecordMismatch, match="shows no log, which had 3"):
        reader.resolve("ada/net")


def test_a_reader_refuses_a_log_that_lost_records(reader, ada, rows):
    kept = reader.head
    steal("DELETE FROM provenance_loghead WHERE size = 3")
    steal("DELETE FROM provenance_logleaf WHERE position = 2")
    with pytest.raises(problems.RecordMismatch, match=r"Records were removed|no record"):
        reader.resolve("ada/net")
    assert reader.head == kept


def test_a_reader_refuses_a_history_that_the_signer_rewrote(reader, ada, rows):
    """A thief of the key too: everything is signed, and only the head that was kept tells."""
    leaf = LogLeaf.objects.get(position=1)
    record = json.loads(leaf.record) | {"digest": f"sha256:{'0' * 64}"}
    leaf.record = json.dumps(record, sort_keys=True, separators=(",", ":"))
    steal("DELETE FROM provenance_loghead WHERE size > 1")
    steal(
        "UPDATE provenance_logleaf SET record = %s, hash = %s WHERE position = 1",
        leaf.record, merkle.leaf_hash(leaf.entry),
    )  # fmt: skip
    log._sign(log.state().signer(), 3, StoredTree())
    with pytest.raises(
        problems.RecordMismatch, match="does not begin with the 3 records that it had"
    ):
        reader.resolve("ada/net")


def test_nothing_is_signed_on_a_log_that_was_changed(ada, rows):
    steal("UPDATE provenance_logleaf SET hash = %s WHERE position = 1", b"x" * 32)
    versions.yank(ada, version=rows[0], reason="wrong")
    deliver()
    waiting = Delivery.objects.get(consumer=CONSUMER)
    assert "The leaves in the database are not the 3 that were signed last" in waiting.error
    assert LogHead.objects.order_by("size").last().size == 3


def test_every_committed_delivery_is_in_the_next_head(ada, rows, monkeypatch):
    """Also that of another push which was committed, and whose own delivery never ran."""
    first, second = rows
    versions.yank(ada, version=first, reason="wrong")
    versions.yank(ada, version=second, reason="wrong too")
    waiting = Delivery.objects.filter(consumer=CONSUMER).select_related("event")
    assert waiting.count() == 2
    from registry.core.outbox import Subject

    log.on_event(Subject("version", str(first.pk), first.model_id))
    assert LogHead.objects.order_by("size").last().size == 5
    deliver()
    assert LogLeaf.objects.count() == 5


def test_what_happened_before_the_log_is_recorded_by_the_hourly_task(ada, start, monkeypatch):
    version, _ = shared.fresh(start)
    if LogLeaf.objects.exists():
        steal("DELETE FROM provenance_loghead")
        steal("DELETE FROM provenance_logleaf")
    monkeypatch.setattr(log, "FIRST_EVENTS", 0)
    refs.put_tag(ada, model=version.model, name="v1", head=_head(version))
    deliver()
    assert not LogLeaf.objects.exists()
    monkeypatch.setattr(log, "_BATCH", 1)
    assert log.append_missing() == 3
    assert list(LogLeaf.objects.values_list("kind", flat=True)) == [
        "key", "version.published", "version.published", "tag.moved"
    ]  # fmt: skip
    assert log.append_missing() == 0


def test_a_key_is_rotated_and_readers_follow(rows, reader, ada, api):
    old = log.state().signer()
    log.rotate_key()
    new = log.state().signer()
    assert new != old
    assert SigningKey.objects.count() == 1
    versions.yank(ada, version=rows[0], reason="wrong")
    deliver()
    assert reader.resolve("ada/net").number == 2
    assert reader.head.key == str(new.verifier)
    log.revoke_key(old.verifier, "it was on a stolen disk")
    reader.resolve("ada/net")
    listed = api().get("/.well-known/model-hub-log-keys").content.decode()
    assert listed == f"{new.verifier}\n"


def test_a_rotation_that_fails_leaves_the_present_key(rows, monkeypatch):
    old = log.state().signer()
    monkeypatch.setattr(keys, "store", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        log.rotate_key()
    assert log.state().signer() == old


def test_the_key_follows_the_secret_key_of_the_hub(rows, settings):
    signer, before = log.state().signer(), settings.SECRET_KEY
    assert str(signer) not in SigningKey.objects.get().sealed
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [before]
    assert log.state().signer() == signer
    log.append_missing()
    settings.SECRET_KEY_FALLBACKS = []
    assert log.state().signer() == signer
    settings.SECRET_KEY = "a third"
    with pytest.raises(keys.KeyUnusableError, match="add it to HUB_SECRET_KEY_FALLBACKS"):
        log.state().signer()


def test_a_head_of_another_key_is_refused(rows, reader):
    """A thief of the database with a key of their own."""
    stranger = keys.make(keys.origin())
    head = LogHead.objects.order_by("size").last()
    forged = Note(Note.parse(head.note).text).signed_by(stranger)
    steal("UPDATE provenance_loghead SET note = %s WHERE size = %s", str(forged), head.size)
    with pytest.raises(problems.RecordMismatch, match="None of the log's keys signed its head"):
        reader.resolve("ada/net")


def test_moved_models_keep_their_records(ada, rows, reader):
    registered_models.move(ada, model=rows[0].model, namespace=rows[0].model.namespace, name="web")
    deliver()
    assert reader.resolve("ada/web").number == 2


def test_reading_the_log_needs_few_queries(api, rows, django_assert_max_num_queries):
    guest = api()
    with django_assert_max_num_queries(14):
        guest.get(f"{V1}/log?since=2")


def _head(version):
    from registry.versions import history

    return history.Head(version.commit_id, version)
