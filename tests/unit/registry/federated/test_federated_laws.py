"""The laws of trainings that the database keeps, whoever writes and however."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from hub.protocol import federated
from registry.federated.models import Aggregate, Contribution, Participant, Round, Training
from registry.models import Blob
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]


@rows
def start():
    """A training with an aggregated round and an open one, to which one device contributed."""
    from registry.federated.services import contributions, participants, rounds

    ada = factories.user("ada")
    training = learning.training(ada)
    code = learning.invited(ada, training)
    devices = [
        participants.join(training=training, code=code, public_key=federated.public_key(key * 32))[
            0
        ]
        for key in (b"\1", b"\2")
    ]
    first = Round.objects.get(training=training)
    for device in devices:
        contribute(first, device)
    for row in Contribution.objects.all():
        contributions.judge(row.pk, contributions.Verdict())
    plan = rounds.advance(first)
    made = learning.stored("weights.safetensors", learning.base(1.0))
    rounds.finish(plan, result=made.sha256)
    contribute(Round.objects.get(number=2), devices[0])
    return training, *devices


@pytest.fixture
def devices(start):
    return fresh(start)[1:]


def contribute(into, device, **changed):
    """A row as the service would write it."""
    digest = learning.stored("file", learning.tensors(0.5)).sha256
    given = {
        "round": into,
        "answers": into,
        "participant": device,
        "sha256": digest,
        "size": 36,
        "blob": Blob.objects.get(pk=digest),
        "n": 10,
        "encoding": "delta/f32",
        "base_sha256": into.base_sha256,
        "manifest": "{}",
        "signature": "s",
    }
    return Contribution.objects.create(**given | changed)


def refused(sql, *params):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, params)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("training", "rules = '{}'"),
        ("training", "layout_sha256 = ''"),
        ("training", "number = 9"),
        ("training", "state = 'draft'"),
        ("training", """roles = '{"frozen": ["w"]}'"""),
        ("training", f"selection_seed = '{'0' * 64}'"),
        ("participant", "public_key = 'other'"),
        ("participant", "pseudonym = 'p_other'"),
        ("round", f"nonce = '{'0' * 32}'"),
        ("round", "quorum = 1"),
        ("round", """selected = '["p_other"]'"""),
        ("round", f"seed = '{'0' * 64}'"),
        ("round", "candidates = 9"),
        ("round", f"base_sha256 = '{'0' * 64}'"),
        ("aggregate", "inputs = '[]'"),
        ("aggregate", f"result_sha256 = '{'0' * 64}'"),
        ("aggregate", "rules = '{}'"),
        ("contribution", "n = 11"),
        ("contribution", "signature = 'other'"),
        ("contribution", f"sha256 = '{'0' * 64}'"),
        ("contribution", "manifest = 'other'"),
    ],
)
def test_what_was_begun_keeps_what_it_is(start, table, change):
    # One row alone: of two, a unique column could refuse the second.
    first = f"SELECT min(id) FROM federated_{table}"  # noqa: S608
    refused(f"UPDATE federated_{table} SET {change} WHERE id = ({first})")  # noqa: S608


@pytest.mark.parametrize("table", ["round", "aggregate", "contribution", "training"])
def test_nothing_of_it_is_deleted(start, table):
    condition = " WHERE state = 'used'" if table == "contribution" else ""
    refused(f"DELETE FROM federated_{table}{condition}")  # noqa: S608


@pytest.mark.parametrize(
    ("number", "state"),
    [(1, "open"), (1, "closing"), (1, "failed"), (2, "aggregated"), (2, "failed")],
)
def test_rounds_go_one_way(start, number, state):
    refused(
        "UPDATE federated_round SET state = %s, reason = 'r', closed_at = %s, ended_at = %s "
        "WHERE number = %s",
        state, timezone.now(), timezone.now(), number,
    )  # fmt: skip


def test_a_closing_round_is_not_aggregated_without_a_result(start):
    now = timezone.now()
    Round.objects.filter(number=2).update(state="closing", closed_at=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Round.objects.filter(number=2).update(state="aggregated", ended_at=now)


def test_one_live_round_and_one_contribution_each(devices):
    open_round = Round.objects.get(number=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        contribute(open_round, devices[0])
    open_round.pk, open_round.number, open_round.nonce = None, 3, "0" * 32
    with pytest.raises(IntegrityError), transaction.atomic():
        open_round.save(force_insert=True)


def test_contributions_keep_to_their_round(devices):
    ended, open_round = Round.objects.order_by("number")
    Contribution.objects.filter(round=open_round).delete()
    for into, changed in (
        (ended, {}),
        (open_round, {"n": 10_001}),
        (open_round, {"n": 0}),
        (open_round, {"base_sha256": "0" * 64}),
        (open_round, {"answers": ended, "base_sha256": ended.base_sha256}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            contribute(into, devices[1], **changed)
    other = Training.objects.get()
    other.pk, other.number, other.uuid = None, 2, "0" * 32
    other.save(force_insert=True)
    stranger = Participant.objects.get(pk=devices[1].pk)
    stranger.pk, stranger.training, stranger.pseudonym = None, other, "p_0"
    stranger.token_digest = "0" * 64
    stranger.save(force_insert=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        contribute(open_round, stranger)
    assert contribute(open_round, devices[1]).pk


def test_a_round_for_some_takes_no_contribution_of_others(devices):
    live = Round.objects.get(number=2)
    Contribution.objects.filter(round=live).delete()
    now = timezone.now()
    Round.objects.filter(pk=live.pk).update(state="cancelled", closed_at=now, ended_at=now)
    live.pk, live.number, live.nonce = None, 3, "0" * 32
    live.selected = [devices[0].pseudonym]
    live.save(force_insert=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        contribute(live, devices[1])
    assert contribute(live, devices[0]).pk


def test_a_draw_and_a_score_belong_to_what_they_are_of(start):
    refused("UPDATE federated_round SET score = 0.5 WHERE number = 2")
    Round.objects.filter(number=1).update(score=0.5)
    live = Round.objects.get(number=2)
    now = timezone.now()
    Round.objects.filter(pk=live.pk).update(state="cancelled", closed_at=now, ended_at=now)
    live.pk, live.number, live.nonce, live.seed = None, 3, "0" * 32, "0" * 64
    with pytest.raises(IntegrityError), transaction.atomic():
        live.save(force_insert=True)


@pytest.mark.parametrize(
    ("role", "noise"), [("statistic", 1.0), ("frozen", 1.0), ("statistic", None)]
)
def test_statistics_are_not_trained_under_noise(start, role, noise):
    draft = Training.objects.get()
    draft.pk, draft.number, draft.uuid, draft.state = None, 2, "0" * 32, "draft"
    draft.rules = draft.rules | {"noise_multiplier": noise}
    draft.layout = [*draft.layout, {"name": "mean", "dtype": "F32", "shape": [3], "role": role}]
    draft.save(force_insert=True)
    opens = Training.objects.filter(pk=draft.pk)
    if role == "statistic" and noise:
        with pytest.raises(IntegrityError), transaction.atomic():
            opens.update(state="open")
    else:
        assert opens.update(state="open") == 1


def test_a_contribution_is_judged_once(start):
    refused("UPDATE federated_contribution SET state = 'accepted' WHERE state = 'used'")
    refused("UPDATE federated_contribution SET state = 'used' WHERE state = 'received'")
    refused("UPDATE federated_contribution SET state = 'late' WHERE state = 'received'")
    with transaction.atomic():
        Contribution.objects.filter(state="received").update(state="rejected", problem="non-finite")
        refused("UPDATE federated_contribution SET state = 'accepted' WHERE state = 'rejected'")
        transaction.set_rollback(True)
    now = timezone.now()
    Round.objects.filter(number=2).update(state="cancelled", closed_at=now, ended_at=now)
    refused("UPDATE federated_contribution SET state = 'accepted' WHERE state = 'received'")


def test_bytes_may_go_and_never_come_back(start):
    row = Contribution.objects.filter(state="used").first()
    Contribution.objects.filter(pk=row.pk).update(blob=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Contribution.objects.filter(pk=row.pk).update(blob=row.sha256)
    made = Aggregate.objects.get()
    Aggregate.objects.update(result=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Aggregate.objects.update(result=made.result_sha256)


def test_who_was_sent_away_and_what_ended_stay_so(devices):
    Participant.objects.update(state="revoked", ended_at=timezone.now())
    refused("UPDATE federated_participant SET state = 'active'")
    Training.objects.update(state="finished", ended_at=timezone.now())
    refused("UPDATE federated_training SET state = 'open'")
