"""A training over HTTP: joining, tasks, contributions, and every refusal by its own type."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from hub.protocol import canonical, federated, safetensors
from registry.federated import selectors
from registry.federated.models import Contribution, Participant, Round, Training
from registry.models import Blob, Event, Upload, Version
from runners.models import Job
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]


@rows
def start():
    ada = factories.user("ada")
    return ada, learning.training(ada)


@pytest.fixture
def ada(start):
    return fresh(start[0])


@pytest.fixture
def training(start):
    return Training.objects.select_related("model__namespace").get(pk=start[1].pk)


@pytest.fixture
def code(ada, training):
    return learning.invited(ada, training)


@pytest.fixture
def device(api, training, code):
    return learning.Device(api, training, code)


@pytest.fixture
def other(api, training, code):
    return learning.Device(api, training, code)


def end_round(training):
    """Let the deadline of the round in hand pass."""
    Round.objects.filter(training=training, state="open").update(state="closing",
        closed_at=timezone.now(), grace_until=timezone.now())  # fmt: skip


def test_a_training_opens_with_its_schema(api, training):
    told = api().get(f"models/ada/net/trainings/{training.number}")
    body = told.json()
    assert (body["state"], body["base"], body["tensors"]) == (
        "open", 1, {"trainable": 2, "frozen": 1},
    )  # fmt: skip
    assert (body["round"]["number"], body["round"]["state"]) == (1, "open")
    assert body["privacy"]["words"].startswith("No differential privacy: training 1 added no noise")
    again = api().get(f"models/ada/net/trainings/{training.number}", If_None_Match=told["ETag"])
    assert again.status_code == 304
    schema = api().get("models/ada/net/trainings/1/schema").json()
    assert schema["layout_digest"] == federated.layout_digest(learning.PARTS)
    assert api().get("models/ada/net/trainings").json()["items"][0]["number"] == 1


def test_a_schema_that_cannot_be_trained_says_why(ada):
    from registry.federated.services import trainings

    version = Version.objects.get(model__name="net")
    made = trainings.create(ada, version=version)
    finding = {"code": "training-folded", "severity": "error", "message": "Folded.", "where": ""}
    trainings.refuse_schema(training=made, findings=[finding])
    made.refresh_from_db()
    assert (made.state, made.refusal) == ("draft", [finding])
    with pytest.raises(Exception, match="Folded"):
        trainings.set_state(ada, training=made, state="open")


def test_a_round_from_invitation_to_result(api, ada, training, device, other):
    task = device.task()
    assert task["base"]["digest"] == f"sha256:{training.weights_id}"
    weights = device.get(f"rounds/{task['round']}/base")
    assert b"".join(weights) == learning.base()
    part = device.get("rounds/1/base", Range="bytes=0-7")
    assert part.status_code == 206
    assert device.get("skeleton").status_code == 200
    for one, value in ((device, 0.1), (other, 0.3)):
        sent = one.push(one.task(), learning.tensors(value))
        assert (sent.status_code, sent.json()["state"]) == (201, "received"), sent.content
        assert one.get("task").status_code == 204
    assert learning.work() == ["check", "aggregate"]
    told = api().get("models/ada/net/trainings/1/rounds/1").json()
    assert (told["state"], told["contributions"]) == ("aggregated", {"used": 2})
    assert "given" not in told
    following = device.task()
    assert following["round"] == 2
    assert following["base"]["digest"] == told["result"] != task["base"]["digest"]
    own = device.get("rounds/1/contribution").json()
    assert (own["state"], own["figures"]["weight"]) == ("used", 0.5)
    made = api().get("models/ada/net/trainings/1/rounds/1/aggregate").json()
    assert (made["participants"], made["examples"], made["left_out"]) == (2, 20, {})
    given = api(ada).get("models/ada/net/trainings/1/rounds/1").json()["given"]
    assert {row["participant"] for row in given} == {device.name, other.name}
    public = api().get("models/ada/net/trainings/1/rounds").content.decode()
    assert device.name not in public


def test_contributions_are_summed_in_the_order_of_joining(api, training, device, other):
    seen = []
    for one in (other, device):
        one.push(one.task(), learning.tensors())
    learning.work(results=seen)
    (given,) = seen
    assert [row["id"] for row in given.options["contributions"]] == [device.name, other.name]
    assert given.options["norm_history"] == []


def test_the_same_again_is_the_same_and_another_is_refused(device, training):
    task, content = device.task(), learning.tensors(0.1)
    assert device.push(task, content).status_code == 201
    again = device.push(task, content)
    assert (again.status_code, again.json()["state"]) == (200, "received")
    differs = device.push(task, learning.tensors(0.2))
    assert (differs.status_code, learning.slug(differs)) == (409, "contribution-differs")
    path = f"{device.address}/rounds/1/contribution"
    assert device.api.delete(path).status_code == 204
    assert device.push(task, learning.tensors(0.2)).status_code == 201
    assert Contribution.objects.count() == 1


REFUSALS = [
    ({"nonce": "0" * 32}, 422, "nonce-wrong"),
    ({"round": 9}, 422, "manifest-replayed"),
    ({"participant": "p_other"}, 422, "manifest-replayed"),
    ({"training": "another"}, 422, "manifest-replayed"),
    ({"base": f"sha256:{'0' * 64}"}, 409, "stale-base"),
    ({"n": 10_001}, 422, "examples-limit"),
    ({"encoding": "delta/topk"}, 422, "tensor-mismatch"),
    ({"encoding": "delta/f8"}, 422, "encoding-refused"),
    ({"encoding": ""}, 422, "encoding-refused"),
    ({"key": b"\1" * 32}, 422, "signature-invalid"),
    ({"blob": f"sha256:{'1' * 64}"}, 422, "digest-mismatch"),
]


@pytest.mark.parametrize(("changed", "status", "problem"), REFUSALS)
def test_a_manifest_that_does_not_fit_is_refused(device, training, changed, status, problem):
    refused = device.push(device.task(), learning.tensors(), **changed)
    assert (refused.status_code, learning.slug(refused)) == (status, problem)
    assert not Contribution.objects.exists()
    assert Round.objects.get().state == "open"


def test_a_manifest_without_claims_verifies_as_it_was_signed(device, training):
    task, content = device.task(), learning.tensors(0.1)
    manifest = device.manifest(task, content)
    del manifest["claims"]
    signed = canonical.encode(manifest)
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    answer = device.api.put(
        f"{device.address}/rounds/1/contribution",
        content,
        content_type=safetensors.MEDIA_TYPE,
        Hub_Manifest=base64.b64encode(signed).decode(),
        Hub_Signature=federated.sign(signed, device.key),
        Content_Digest=f"sha-256=:{digest}:",
    )
    assert answer.status_code == 201, answer.content
    assert Contribution.objects.get().manifest == signed.decode()


SHAPES = [
    ({"w": ("w", "F32", (3, 2))}, "w"),
    ({"w": ("w", "F16", (2, 3))}, "w"),
    ({"b": ()}, "b"),
    ({"b": ("c", "F32", (3,))}, "b"),
]


@pytest.mark.parametrize(("changed", "tensor"), SHAPES)
def test_tensors_that_do_not_fit_are_named(device, training, changed, tensor):
    refused = device.push(device.task(), learning.tensors(**changed))
    assert (refused.status_code, learning.slug(refused)) == (422, "tensor-mismatch")
    assert refused.json()["tensor"] == tensor


def test_bytes_that_are_no_tensors_are_refused(device, training):
    task = device.task()
    for content in (b"\x80\x04pickle", learning.tensors() + b"more"):
        refused = device.push(task, content)
        assert (refused.status_code, learning.slug(refused)) == (422, "tensor-mismatch")
    large = device.push(task, b"0" * 1_100_000)
    assert (large.status_code, learning.slug(large)) == (413, "too-large")
    assert not Contribution.objects.exists()


def test_what_a_worker_refuses_leaves_the_round_unharmed(api, ada, training, code, device, other):
    third = learning.Device(api, training, code)
    for one in (device, other, third):
        one.push(one.task(), learning.tensors())
    assert learning.work({other.name: "non-finite"}) == ["check", "aggregate"]
    own = other.get("rounds/1/contribution").json()
    assert own["state"] == "rejected"
    assert own["problem"].endswith("/problems/non-finite")
    assert own["tensor"] == "w"
    made = api().get("models/ada/net/trainings/1/rounds/1/aggregate").json()
    assert (made["participants"], made["left_out"]) == (2, {"non-finite": 1})


def test_a_big_update_is_uploaded_and_then_named(device, training):
    task, content = device.task(), learning.tensors()
    upload = device.begin(content)
    assert device.append(upload, content[:40]).status_code == 204
    offset = int(device.api("HEAD", upload, Tus_Resumable="1.0.0")["Upload-Offset"])
    early = device.name_upload(task, content)
    assert (early.status_code, learning.slug(early)) == (422, "blob-unknown")
    assert device.append(upload, content[offset:], offset).status_code == 204
    assert device.name_upload(task, content).status_code == 201
    assert not Upload.objects.filter(filename__startswith="training:").exists()
    assert device.name_upload(task, content).status_code == 200


def test_an_upload_too_large_for_the_schema_is_refused_at_once(device, training):
    answer = device.api.post(
        f"{device.address}/uploads", Tus_Resumable="1.0.0", Upload_Length="2000000"
    )
    assert (answer.status_code, learning.slug(answer)) == (413, "too-large")


def test_contributions_are_nobody_elses(api, ada, bob, training, device, other):
    content = learning.tensors(0.7)
    device.push(device.task(), content)
    sha256 = Contribution.objects.get().sha256
    for who in (ada, bob, None):
        assert api(who).get(f"blobs/{sha256}").status_code == 404
    factories.model(bob, "mine")
    draft = api(bob).post("models/bob/mine/versions", {}).json()["number"]
    for who, path in ((bob, f"models/bob/mine/versions/{draft}"),):
        linked = api(who).put(f"{path}/files/w.bin", {"blob": f"sha256:{sha256}"})
        unknown = api(who).put(f"{path}/files/w.bin", {"blob": f"sha256:{'5' * 64}"})
        assert linked.status_code == unknown.status_code == 422
        assert learning.slug(linked) == learning.slug(unknown) == "blob-unknown"
    # Another device that knows the digest has no right to the bytes either.
    named = other.name_upload(other.task(), content)
    assert (named.status_code, learning.slug(named)) == (422, "blob-unknown")


def test_jobs_that_tell_of_devices_are_not_shown(api, ada, admin, training, device):
    device.push(device.task(), learning.tensors())
    learning.work()
    job = Job.objects.get(kind="federated-check")
    assert api(ada).get(f"jobs/{job.pk}").status_code == 404
    assert api(admin).get(f"jobs/{job.pk}").status_code == 200


def test_a_task_is_polled_without_a_row_being_written(
    device, training, django_assert_max_num_queries
):
    tag = device.get("task")["ETag"]
    with django_assert_max_num_queries(6) as asked:
        assert device.get("task", If_None_Match=tag).status_code == 304
    assert all(query["sql"].startswith("SELECT") for query in asked.captured_queries)
    device.push(device.task(), learning.tensors())
    with django_assert_max_num_queries(6) as asked:
        idle = device.get("task")
    assert (idle.status_code, int(idle["Retry-After"])) == (204, 1)
    assert all(query["sql"].startswith("SELECT") for query in asked.captured_queries)


def test_no_request_of_a_device_writes_more_than_two_rows(api, training, code, other):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def writes(act):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            act()
        words = ("INSERT", "UPDATE", "DELETE")
        return sum(query["sql"].startswith(words) for query in asked.captured_queries)

    joined = []
    assert writes(lambda: joined.append(learning.Device(api, training, code))) == 2
    task = joined[0].task()
    # A blob is looked for, then written: one row, and the contribution another.
    assert writes(lambda: joined[0].push(task, learning.tensors())) == 2
    content = learning.tensors(0.9)
    upload = other.begin(content)
    other.append(upload, content)
    assert writes(lambda: other.name_upload(task, content)) == 2


def test_below_quorum_the_round_fails_and_the_next_opens(api, training, device):
    device.push(device.task(), learning.tensors())
    learning.work()
    assert Round.objects.get().state == "open"
    end_round(training)
    learning.work()
    failed, following = Round.objects.order_by("number")
    assert (failed.state, failed.reason) == ("failed", "below-quorum")
    assert (following.state, following.base_sha256) == ("open", failed.base_sha256)
    late = device.push(
        {"round": 1, "nonce": failed.nonce, "base": {"digest": f"sha256:{failed.base_sha256}"}},
        learning.tensors(0.9),
    )
    assert (late.status_code, learning.slug(late)) == (409, "contribution-differs")
    again = device.push(
        {"round": 1, "nonce": failed.nonce, "base": {"digest": f"sha256:{failed.base_sha256}"}},
        learning.tensors(),
    )
    assert again.status_code == 200


def test_an_upload_that_began_in_time_has_its_grace(ada, api, training, code, device, other):
    third = learning.Device(api, training, code)
    task, content = device.task(), learning.tensors(0.4)
    for one in (device, other):
        one.push(one.task(), learning.tensors())
    upload = third.begin(content)
    assert api(ada).post("models/ada/net/trainings/1/rounds/1/close").status_code == 202
    assert learning.work() == ["check"]  # the aggregate waits for the upload
    closed = device.get("rounds/1").json()
    assert closed["state"] == "closing"
    newcomer = learning.Device(api, training, code)
    refused = newcomer.push(task, content)
    assert (refused.status_code, learning.slug(refused)) == (409, "round-closed")
    third.append(upload, content)
    assert third.name_upload(task, content).status_code == 201
    Round.objects.filter(number=1).update(grace_until=timezone.now() - timedelta(seconds=1))
    assert learning.work() == ["check", "aggregate"]
    assert device.get("rounds/1").json()["contributions"] == {"used": 3}


def test_after_the_grace_an_upload_is_late_and_keeps_no_bytes(ada, api, training, code, device):
    others = [learning.Device(api, training, code) for _ in range(2)]
    task, content = device.task(), learning.tensors(0.4)
    device.append(device.begin(content), content)
    for one in others:
        one.push(one.task(), learning.tensors())
    api(ada).post("models/ada/net/trainings/1/rounds/1/close")
    Round.objects.filter(number=1).update(grace_until=timezone.now() - timedelta(seconds=1))
    late = device.name_upload(task, content)
    assert (late.status_code, late.json()["state"]) == (201, "late")
    assert Contribution.objects.get(state="late").blob is None
    learning.work()
    made = api().get("models/ada/net/trainings/1/rounds/1/aggregate").json()
    assert made["left_out"] == {"late": 1}


def test_a_round_becomes_a_version(api, ada, training, device, other):
    for one in (device, other):
        one.push(one.task(), learning.tensors())
    api(ada).post("models/ada/net/trainings/1/rounds/1/release")
    learning.work()
    version = Version.objects.get(number=2)
    assert (version.state, version.publish_requested) == ("submitted", True)
    paths = dict(version.files.values_list("path", "blob"))
    made = Round.objects.get(number=1).aggregate
    assert paths["weights.safetensors"] == made.result_sha256
    assert paths["model.onnx"] == training.skeleton_sha256
    assert version.card["base_model"] == "ada/net@1"
    assert version.card["license"] == "apache-2.0"
    assert "No differential privacy: training 1 added no noise" in version.readme
    assert device.name not in version.readme
    assert api().get("models/ada/net/trainings/1/rounds/1").json()["version"] == 2
    twice = api(ada).post("models/ada/net/trainings/1/rounds/1/release")
    assert (twice.status_code, learning.slug(twice)) == (409, "training-state")


def test_trainings_of_a_private_model_are_for_members_and_devices(api, ada, bob, training, code):
    training.model.visibility = "private"
    training.model.save()
    for who in (None, bob):
        for path in ("", "/1", "/1/schema", "/1/rounds", "/1/rounds/1", "/1/task"):
            answer = api(who).get(f"models/ada/net/trainings{path}")
            assert answer.status_code == (401 if path == "/1/task" else 404), path
        tried = api(who).post(
            "models/ada/net/trainings/1/participants",
            {"invite": "fi_wrong", "public_key": federated.public_key(federated.new_key())},
        )
        assert tried.status_code == 404
    device = learning.Device(api, training, code)
    assert device.task()["round"] == 1
    assert device.get("rounds/1/base").status_code == 200
    assert device.api.get("models/ada/net").status_code == 401  # its token opens nothing else
    for who, seen in ((AnonymousUser(), 0), (bob, 0), (ada, 1)):
        assert selectors.every(who).count() == seen


def test_weights_between_versions_are_for_devices_and_writers(api, ada, bob, training, device):
    assert api(bob).get("models/ada/net/trainings/1/rounds/1/base").status_code == 404
    assert api(ada).get("models/ada/net/trainings/1/rounds/1/base").status_code == 200


def test_joining_needs_an_open_invitation_and_a_new_key(api, ada, training):
    code = learning.invited(ada, training, uses=1)
    first = learning.Device(api, training, code)
    path = f"{first.address}/participants"
    used_up = api().post(path, {"invite": code, "public_key": federated.public_key(b"\2" * 32)})
    assert (used_up.status_code, learning.slug(used_up)) == (403, "invite-invalid")
    another = learning.invited(ada, training)
    known = api().post(path, {"invite": another, "public_key": federated.public_key(first.key)})
    assert (known.status_code, learning.slug(known)) == (409, "key-known")
    bad = api().post(path, {"invite": another, "public_key": "c2hvcnQ"})
    assert bad.status_code == 400
    secret = first.api.headers["Authorization"].partition(" ")[2]
    assert not Participant.objects.filter(token_digest=secret).exists()
    assert secret not in str(list(Event.objects.values("data")))


def test_a_device_can_be_suspended_and_sent_away(api, ada, training, device):
    path = f"{device.address}/participants/{device.name}"
    for state, status in (("suspended", 403), ("active", 200), ("revoked", 401)):
        assert api(ada).patch(path, {"state": state}).status_code == 200
        assert device.get("task").status_code == status
    back = api(ada).patch(path, {"state": "active"})
    assert (back.status_code, learning.slug(back)) == (409, "training-state")


def test_only_maintainers_steer(api, ada, bob, training, device):
    for path in ("/1/pause", "/1/invites", "/1/rounds", "/1/rounds/1/close"):
        assert api(bob).post(f"models/ada/net/trainings{path}", {}).status_code == 403
        assert api().post(f"models/ada/net/trainings{path}", {}).status_code == 401
        assert device.api.post(f"models/ada/net/trainings{path}", {}).status_code == 401
    assert api(ada, scopes=["read"]).post("models/ada/net/trainings/1/pause").status_code == 403


def test_a_pause_opens_no_round_and_an_end_is_gone(api, ada, training, device, other):
    path = "models/ada/net/trainings/1"
    for one in (device, other):
        one.push(one.task(), learning.tensors())
    assert api(ada).post(f"{path}/pause").json()["state"] == "paused"
    learning.work()
    assert Round.objects.count() == 1
    assert device.get("task").status_code == 204
    assert api(ada).post(f"{path}/open").json()["round"]["number"] == 2
    assert api(ada).post(f"{path}/finish", {"reason": "Enough."}).json()["state"] == "finished"
    over = device.get("task")
    assert (over.status_code, learning.slug(over)) == (410, "training-over")
    assert api(ada).post(f"{path}/open").status_code == 409


def test_a_round_may_be_for_some(api, ada, training, device, other):
    path = "models/ada/net/trainings/1"
    api(ada).post(f"{path}/pause")
    end_round(training)
    learning.work()
    made = api(ada).post(f"{path}/rounds", {"participants": [device.name]})
    assert made.status_code == 201, made.content
    task = device.task()
    assert other.get("task").status_code == 204
    refused = other.push(task, learning.tensors())
    assert (refused.status_code, learning.slug(refused)) == (403, "not-allowed")


def test_rules_and_schedule_are_read_strictly(api, ada, training):
    path = "models/ada/net/trainings"
    for given, pointer in (
        ({"rules": {"rule": "guess"}}, "/rules/rule"),
        ({"schedule": {"quorum": 0}}, "/schedule/quorum"),
        ({"schedule": {"quorum": 3, "target": 2}}, "/schedule/target"),
        ({"schedule": {"pace": 3}}, "/schedule/pace"),
        ({"hyperparameters": {"words": "w" * 20_000}}, "/hyperparameters"),
    ):
        answer = api(ada).post(path, {"version": 1, **given})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == pointer
    fixed = api(ada).patch(f"{path}/1", {"rules": {"examples_cap": 5}})
    assert (fixed.status_code, learning.slug(fixed)) == (409, "training-state")


def test_bytes_are_forgotten_and_figures_stay(training, device, other):
    from registry.federated.services import retention
    from registry.storage import collector

    for one, value in ((device, 0.1), (other, 0.2)):
        one.push(one.task(), learning.tensors(value))
    learning.work()
    digests = set(Contribution.objects.values_list("sha256", flat=True))
    Blob.objects.update(touched_at=timezone.now() - timedelta(days=30))
    assert digests.isdisjoint(collector.unneeded().values_list("pk", flat=True))
    assert retention.forget() == 0
    Round.objects.filter(number=1).update(ended_at=timezone.now() - timedelta(days=8))
    assert retention.forget() == 2
    unneeded = set(collector.unneeded().values_list("pk", flat=True))
    assert digests <= unneeded
    training.refresh_from_db()
    assert training.weights_id not in unneeded
    assert training.skeleton_id not in unneeded
    row = Contribution.objects.first()
    assert (row.blob, row.figures["norm"]) == (None, 1.0)


def test_a_buffer_takes_what_started_from_an_older_base(api, ada, training):
    version = Version.objects.get(model__name="net", number=1)
    made = learning.training(
        ada, version, schedule={"mode": "buffered"}, rules={"max_staleness": 1}
    )
    code = learning.invited(ada, made)
    slow, *quick = [learning.Device(api, made, code) for _ in range(3)]
    old = slow.task()
    for _ in range(1):
        for one in quick:
            one.push(one.task(), learning.tensors())
        learning.work()
    full = slow.push(old, learning.tensors(), encoding="full/f32")
    assert (full.status_code, learning.slug(full)) == (422, "encoding-refused")
    taken = slow.push(old, learning.tensors(0.2))
    assert (taken.status_code, taken.json()["round"]) == (201, 2)
    assert slow.push(old, learning.tensors(0.2)).status_code == 200
    quick[0].push(quick[0].task(), learning.tensors())
    seen = []
    learning.work(results=seen)
    told = {row["id"]: row for row in seen[0].options["contributions"]}
    assert told[slow.name]["staleness"] == 1
    assert not any(path.startswith("bases/") for path in seen[0].files)
    assert told[quick[0].name]["staleness"] == 0
    for one in quick:
        one.push(one.task(), learning.tensors(0.6))
    learning.work()
    third = learning.Device(api, made, code)
    stale = third.push(old | {"nonce": old["nonce"]}, learning.tensors(0.3))
    assert (stale.status_code, learning.slug(stale)) == (409, "stale-base")
