"""What one device, one bad round or one deleted model can do to a hub: nothing to anybody else."""

from __future__ import annotations

import hashlib

import pytest
from django.utils import timezone

from hub.protocol import training_rules
from registry.federated.models import Contribution, Participant, Round, Training
from registry.federated.services import contributions, retention, rounds
from registry.models import Blob, Event, Namespace, Version
from registry.storage.files import store
from registry.storage.services import quotas
from registry.versions.services import registered_models
from runners.federated import jobs
from runners.models import Job
from runners.queue import services
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]


@rows
def start():
    ada = factories.user("ada")
    return ada, factories.version(ada, factories.model(ada))


@pytest.fixture
def ada(start):
    return fresh(start[0])


@pytest.fixture
def begin(api, ada, start):
    """Open a training with so many devices: `begin(3, rules={…})`."""

    def begin(count, **given):
        version = Version.objects.get(pk=start[1].pk)
        made = learning.training(ada, version, **given)
        code = learning.invited(ada, made)
        return made, [learning.Device(api, made, code) for _ in range(count)]

    return begin


def push_all(devices):
    for place, device in enumerate(devices):
        answer = device.push(device.task(), learning.tensors(0.1 * (place + 1)))
        assert answer.status_code == 201, answer.content


def pass_deadline(of):
    """Have the round in hand be one whose deadline has passed."""
    now = timezone.now()
    Round.objects.filter(training=of, state="open").update(
        state="closing", closed_at=now, grace_until=now
    )


class TestDeletedModels:
    @pytest.mark.usefixtures("lists")
    def test_their_trainings_end_with_them(self, ada, begin):
        training, devices = begin(2)
        push_all(devices)
        registered_models.delete(ada, model=training.model)
        learning.work(kinds=())
        training.refresh_from_db()
        assert (training.state, training.reason) == ("cancelled", "Its model was deleted.")
        assert set(training.rounds.values_list("state", flat=True)) == {"cancelled"}
        assert Event.objects.filter(verb="training.cancelled").count() == 1
        assert rounds.due() == []

    def test_a_round_that_cannot_go_on_holds_up_no_other(self, ada, begin):
        broken, _ = begin(0)
        other = factories.version(ada, factories.model(ada, name="other"))
        sound = learning.training(ada, other)
        # As if its bytes were gone: the next round has no base, which the database refuses.
        Training.objects.filter(pk=broken.pk).update(weights=None)
        for one in (broken, sound):
            pass_deadline(one)
        jobs.keep_up()
        assert broken.rounds.get().state == "closing"
        assert [row.state for row in sound.rounds.order_by("number")] == ["failed", "open"]


def test_who_is_sent_away_takes_part_in_no_result(api, ada, begin):
    training, devices = begin(3, schedule={"quorum": 2, "target": 3})
    push_all(devices[:2])
    learning.work(kinds=("federated-check",))
    for device, state in zip(devices, ("suspended", "revoked"), strict=False):
        path = f"{device.address}/participants/{device.name}"
        assert api(ada).patch(path, {"state": state}).status_code == 200
    told = Contribution.objects.values_list("participant__state", "state", "problem")
    assert sorted(told) == [
        ("revoked", "rejected", "participant-sent-away"),
        ("suspended", "rejected", "participant-sent-away"),
    ]
    pass_deadline(training)
    learning.work()
    first = training.rounds.get(number=1)
    assert (first.state, first.reason) == ("failed", "below-quorum")


def test_who_is_sent_away_after_the_plan_stays_in_it(ada, begin):
    training, devices = begin(2)
    push_all(devices)
    learning.work(kinds=("federated-check",))
    row = Participant.objects.get(pseudonym=devices[0].name)
    assert contributions.reject_of(row) == 0
    learning.work()
    assert training.rounds.get(number=1).aggregate.inputs
    assert set(Contribution.objects.values_list("state", flat=True)) == {"used"}


class TestWithoutVerdict:
    """A job that the hub could not do says nothing of what devices sent."""

    @pytest.fixture
    def training(self, begin):
        training, devices = begin(2)
        push_all(devices)
        learning.work(kinds=())
        return training

    def fail(self, kind, reason):
        """Have the waiting job of a kind end for good, for this reason."""
        job = Job.objects.get(kind=kind, state="queued")
        Job.objects.filter(pk=job.pk).update(attempt=2, not_before=timezone.now())
        taken = services.claim("test-1", Job.Pool.values, uuid=job.pk)
        assert services.give_back(taken, reason=reason, detail="No space left on device")
        job.refresh_from_db()
        assert (job.state, job.error_class) == ("failed", reason)
        learning.work(kinds=())
        return job

    def test_an_aggregate_is_tried_again_later(self, training):
        learning.work(kinds=("federated-check",))
        waits = []
        for _ in range(3):
            self.fail("federated-aggregate", "errored")
            again = Job.objects.get(kind="federated-aggregate", state="queued")
            waits.append((again.not_before - timezone.now()).total_seconds())
            assert training.rounds.get().state == "closing"
        assert waits == sorted(waits)
        assert waits[0] > 10
        assert waits[2] > 60
        Job.objects.filter(pk=again.pk).update(not_before=timezone.now())
        learning.work()
        assert training.rounds.get(number=1).state == "aggregated"

    def test_a_check_is_tried_again_and_rejects_nobody(self, training):
        self.fail("federated-check", "errored")
        self.fail("federated-check", "errored")
        assert set(Contribution.objects.values_list("state", "tries")) == {("received", 0)}
        assert Job.objects.get(kind="federated-check", state="queued").not_before > timezone.now()

    def test_what_a_round_itself_made_impossible_fails_it(self, training):
        learning.work(kinds=("federated-check",))
        self.fail("federated-aggregate", "timeout")
        first = training.rounds.get(number=1)
        assert (first.state, first.reason) == ("failed", "aggregation-failed")


class TestManyContributions:
    @pytest.fixture
    def _few(self, monkeypatch):
        monkeypatch.setattr(training_rules, "MOST_ROBUST", 2)

    @pytest.mark.usefixtures("_few")
    def test_a_robust_rule_takes_those_that_came_first(self, begin):
        training, devices = begin(3, rules={"rule": "median"}, schedule={"target": 0})
        push_all(devices)
        learning.work()
        made = training.rounds.get(number=1).aggregate
        first = Contribution.objects.order_by("received_at")[:2]
        assert set(made.inputs) == {row.pk for row in first}
        assert list(made.left_out.values()) == ["over-limit"]
        assert made.examples == 20

    @pytest.mark.usefixtures("_few")
    def test_a_quorum_above_that_is_refused(self, api, ada, begin):
        given = {"version": 1, "rules": {"rule": "median"}, "schedule": {"quorum": 3}}
        refused = api(ada).post("models/ada/net/trainings", given)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (
            400, "/schedule/quorum",
        )  # fmt: skip
        assert not Training.objects.exists()
        draft = {"version": 1, "open": False, "schedule": {"quorum": 3}}
        assert api(ada).post("models/ada/net/trainings", draft).status_code == 201
        changed = api(ada).patch("models/ada/net/trainings/1", {"rules": {"rule": "median"}})
        assert (changed.status_code, Training.objects.get().rules["rule"]) == (400, "fedavg")


class TestRoom:
    def test_what_devices_send_counts_for_the_namespace(self, begin):
        training, devices = begin(2)
        space = Namespace.objects.get(pk=training.model.namespace_id)
        before = quotas.of_namespace(space).used
        push_all(devices[:1])
        content = learning.tensors(0.1)
        assert quotas.of_namespace(space).used == before + len(content)
        Namespace.objects.filter(pk=space.pk).update(quota_bytes=before + len(content))
        refused = devices[1].push(devices[1].task(), content)
        assert (refused.status_code, learning.slug(refused)) == (413, "quota-exceeded")
        assert Contribution.objects.count() == 1
        assert set(store().names()) == set(Blob.objects.values_list("pk", flat=True))
        Namespace.objects.filter(pk=space.pk).update(quota_bytes=before + 2 * len(content))
        assert devices[1].push(devices[1].task(), content).status_code == 201

    def test_uploads_of_devices_are_reserved_in_the_namespace(self, begin):
        training, devices = begin(2)
        space = Namespace.objects.get(pk=training.model.namespace_id)
        content = learning.tensors(0.1)
        used = quotas.of_namespace(space).used
        quota = Namespace.objects.filter(pk=space.pk)
        quota.update(quota_bytes=used + 2 * len(content) - 1)
        task = devices[0].task()
        upload = devices[0].begin(content)
        assert quotas.of_namespace(space).reserved == len(content)
        length = {"Tus_Resumable": "1.0.0", "Upload_Length": str(len(content))}
        refused = devices[1].api.post(f"{devices[1].address}/uploads", **length)
        assert (refused.status_code, learning.slug(refused)) == (413, "quota-exceeded")
        quota.update(quota_bytes=used + 2 * len(content))
        devices[1].begin(content)
        devices[0].append(upload, content)
        assert devices[0].name_upload(task, content).status_code == 201
        room = quotas.of_namespace(space)
        assert (room.used, room.reserved) == (used + len(content), len(content))

    def test_taking_back_is_bounded(self, begin, monkeypatch):
        monkeypatch.setattr(contributions, "MOST_WITHDRAWALS", 2)
        _, (device,) = begin(1)
        task = device.task()
        path = f"{device.address}/rounds/{task['round']}/contribution"
        for place in range(2):
            assert device.push(task, learning.tensors(place + 1)).status_code == 201
            assert device.api.delete(path).status_code == 204
        assert device.push(task, learning.tensors(5)).status_code == 201
        refused = device.api.delete(path)
        assert (refused.status_code, learning.slug(refused)) == (429, "throttled")
        assert Contribution.objects.count() == 1

    def test_uploads_that_are_never_handed_in_are_bounded(self, begin):
        _, (device,) = begin(1)
        for place in range(2):
            content = learning.tensors(place + 1)
            assert device.append(device.begin(content), content).status_code == 204
        refused = device.api.post(
            f"{device.address}/uploads", Tus_Resumable="1.0.0", Upload_Length="100"
        )
        assert (refused.status_code, learning.slug(refused)) == (429, "throttled")


def test_a_buffer_needs_no_base_that_was_let_go(ada, begin):
    training, devices = begin(
        3, schedule={"mode": "buffered", "checkpoints_kept": 2}, rules={"max_staleness": 20}
    )
    push_all(devices[1:])
    learning.work()
    old = devices[0].task()  # of round 2: what the first began with is kept
    for _ in range(4):
        push_all(devices[1:])
        learning.work()
    assert devices[0].push(old, learning.tensors(0.3)).status_code == 201
    learning.work()
    retention.forget()
    assert training.rounds.get(number=2).base_id is None
    push_all(devices[1:2])
    learning.work()
    sixth = training.rounds.get(number=6)
    assert sixth.state == "aggregated"
    assert len(sixth.aggregate.inputs) == 2


class TestFigures:
    """No exact figure stands beside noise, and a median of few is the figure of one device."""

    def read(self, client):
        return client.get("models/ada/net/trainings/1/rounds/1/aggregate").json()

    @pytest.mark.parametrize(("count", "is_told"), [(4, False), (5, True)])
    def test_a_median_of_few_is_for_maintainers(self, api, ada, begin, count, is_told):
        _, devices = begin(count, schedule={"target": count})
        push_all(devices)
        learning.work()
        assert ("median_norm" in self.read(api())["figures"]) is is_told
        assert self.read(api(ada))["figures"]["median_norm"] == 1.0
        assert self.read(api())["examples"] == 10 * count

    def test_under_noise_no_exact_figure_is_told(self, api, ada, begin):
        noise = {"noise_multiplier": 1.0, "clip_norm": 1.0}
        training, devices = begin(5, rules=noise, schedule={"target": 5}, release_every=1)
        push_all(devices)
        learning.work()
        told = self.read(api())
        assert told["examples"] is None
        assert "median_norm" not in told["figures"]
        assert told["privacy"]["terms"][0]["noise_multiplier"] == 1.0
        seed = bytes.fromhex(training.rounds.get(number=1).aggregate.seed)
        assert told["seed_commitment"] == f"sha256:{hashlib.sha256(seed).hexdigest()}"
        assert self.read(api(ada))["examples"] == 50
        page = api().http.get(f"/models/ada/net/trainings/{training.number}/rounds/1").content
        assert b"withheld for privacy" in page
        card = Version.objects.get(number=2).readme
        assert "| not shown because of the noise |" in card


def test_a_result_brings_no_weights_in_another_format(api, ada):
    others = ("model.safetensors", "pytorch_model.bin", "labels.txt", "int8/model.tflite")
    contents = {"model.onnx": b"an onnx file", **{path: path.encode() for path in others}}
    base = factories.version(ada, factories.model(ada, name="both"), contents)
    training = learning.training(ada, base, release_every=1)
    code = learning.invited(ada, training)
    push_all([learning.Device(api, training, code) for _ in range(2)])
    learning.work()
    made = training.rounds.get(number=1).version
    paths = set(made.files.values_list("path", flat=True))
    assert "labels.txt" in paths
    assert paths.isdisjoint({"model.safetensors", "pytorch_model.bin", "int8/model.tflite"})
