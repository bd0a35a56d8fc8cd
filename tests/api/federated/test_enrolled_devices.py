"""Devices of fleets with keys of their own: what they read, report and replace, until when."""

from __future__ import annotations

import pytest
from django.core.cache import caches
from django.db import IntegrityError, transaction

from hub.protocol import federated
from hub.protocol.fleets import enrolment, rotation
from registry.core import usage
from registry.federated.api.authentication import DeviceThrottle
from registry.federated.models import EnrolledDevice, FleetDevice
from registry.identity.models import SecurityEvent
from registry.models import AccessToken, Event
from tests import factories, samples
from tests.api.people.test_limited_tokens import with_token
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]
PATH = "models/ada/net/fleets"
F = f"{PATH}/shops"


@pytest.fixture
def versions(ada):
    """Two published versions of a private model, and one of another private model."""
    model = factories.model(ada, visibility="private")
    other = factories.model(ada, "other", visibility="private")
    return [
        factories.published(ada, of, {"model.onnx": samples.mlp(hidden=hidden)})
        for of, hidden in ((model, 3), (model, 4), (other, 5))
    ]


@pytest.fixture
def shared(api, ada, versions):
    """The token of a fleet, which its devices share."""
    made = api(ada).post(PATH, {"name": "shops"})
    assert made.status_code == 201, made.content
    return made.json()["token"]


def desire(api, ada, number, percent=100):
    wanted = {"version": number, "percent": percent}
    assert api(ada).put(f"{F}/desired", wanted).status_code == 200


def invite(api, ada, **fields):
    made = api(ada).post(f"{F}/invites", fields)
    assert made.status_code == 201, made.content
    return made.json()["code"]


def enrolment_of(code, device, key, **changes):
    content = enrolment("ada/net", "shops", device, code)
    return {
        "code": code,
        "device": device,
        "public_key": federated.public_key(key),
        "signature": federated.sign(content, key),
    } | changes


def enrol(api, ada, device="d1"):
    """A client of a device that has enrolled, and its key."""
    key = federated.new_key()
    made = api().post(f"{F}/enrolments", enrolment_of(invite(api, ada), device, key))
    assert made.status_code == 201, made.content
    return with_token(api, made.json()["token"]), key


def test_a_device_reads_exactly_what_it_must_run(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    problem(device.get(f"{F}/files"), 404, "not-found")
    desire(api, ada, 1)
    assert device.get(f"{F}/desired").json()["version"] == 1
    listed = device.get(f"{F}/files").json()
    assert listed["version"] == 1
    assert {"model.onnx", "README.md"} <= {file["path"] for file in listed["files"]}
    answer = device.get(f"{F}/files/model.onnx?version=1")
    assert b"".join(answer) == samples.mlp(hidden=3)
    desire(api, ada, 2)
    problem(device.get(f"{F}/files/model.onnx?version=1"), 409, "state-conflict")
    assert b"".join(device.get(f"{F}/files/model.onnx")) == samples.mlp(hidden=4)
    problem(device.get(f"{F}/files/nothing.txt"), 404, "not-found")
    for address in (
        "models/ada/net",
        "models/ada/net/versions/1",
        "models/ada/other",
        "models",
        "whoami",
        "/ada/net/resolve/main/model.onnx",
        "/api/models/ada/net",
    ):
        assert device.get(address).status_code == 401, address
    for address in (F, f"{F}/devices", f"{F}/invites", PATH):
        assert device.get(address).status_code in (401, 404), address


@pytest.mark.capability("identity")
def test_its_downloads_are_in_the_security_log(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    desire(api, ada, 1)
    b"".join(device.get(f"{F}/files/model.onnx"))
    usage.notes.flush()
    row = SecurityEvent.objects.get(kind="download")
    assert row.data == {"path": "model.onnx", "fleet": "shops", "device": "d1"}


def test_a_device_speaks_for_itself_alone(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    desire(api, ada, 1)
    running = {"running": f"sha256:{versions[0].manifest_sha256}", "result": "ok"}
    assert device.put(f"{F}/devices/d1", running).status_code == 204
    problem(device.put(f"{F}/devices/d2", running), 403, "not-allowed")
    problem(device.get(f"{F}/desired?device=d2"), 403, "not-allowed")
    old = with_token(api, shared)
    problem(old.put(f"{F}/devices/d1", running | {"result": "failed"}), 403, "not-allowed")
    assert old.put(f"{F}/devices/d3", running).status_code == 204
    told = FleetDevice.objects.values_list("device", "result")
    assert sorted(told) == [("d1", "ok"), ("d3", "ok")]
    problem(old.get(f"{F}/files"), 401, "not-authenticated")


def test_its_token_is_for_its_fleet_alone(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    assert api(ada).post(PATH, {"name": "cars"}).status_code == 201
    problem(device.get(f"{PATH}/cars/desired"), 401, "not-authenticated")
    problem(device.get("models/ada/other/fleets/shops/files"), 401, "not-authenticated")


def test_a_key_is_replaced_by_its_owner_alone(api, ada, shared, versions):
    device, key = enrol(api, ada)
    new, thief = federated.new_key(), federated.new_key()
    public = federated.public_key(new)
    content = rotation("ada/net", "shops", "d1", public)
    for signer in (thief, new):
        signed = {"public_key": public, "signature": federated.sign(content, signer)}
        problem(device.put(f"{F}/key", signed), 400, "invalid-request")
    other = rotation("ada/net", "shops", "d2", public)
    signed = {"public_key": public, "signature": federated.sign(other, key)}
    problem(device.put(f"{F}/key", signed), 400, "invalid-request")
    signed = {"public_key": public, "signature": federated.sign(content, key)}
    changed = device.put(f"{F}/key", signed)
    assert changed.status_code == 200
    assert changed.json()["public_key"] == public
    problem(device.get(f"{F}/desired"), 401, "not-authenticated")
    again = with_token(api, changed.json()["token"])
    assert again.get(f"{F}/desired").status_code == 204
    problem(again.put(f"{F}/key", signed), 400, "invalid-request")
    assert Event.objects.filter(verb="fleet.rotated", data__device="d1").count() == 1


def test_a_revoked_device_is_out_and_its_name_is_free(api, ada, bob, shared, versions):
    device, key = enrol(api, ada)
    problem(api(bob).delete(f"{F}/devices/d1"), 404, "not-found")
    problem(device.delete(f"{F}/devices/d1"), 401, "not-authenticated")
    assert api(ada).delete(f"{F}/devices/d1").status_code == 204
    problem(device.get(f"{F}/desired"), 401, "not-authenticated")
    problem(api(ada).delete(f"{F}/devices/d1"), 404, "not-found")
    same = enrolment_of(invite(api, ada), "d1", key)
    problem(api().post(f"{F}/enrolments", same), 409, "key-known")
    again, _ = enrol(api, ada)
    assert again.get(f"{F}/desired").status_code == 204
    rows = api(ada).get(f"{F}/devices").json()["items"]
    assert [row["revoked_at"] is None for row in rows] == [True, False]


def test_who_may_enrol(api, ada, shared, versions):
    code, key = invite(api, ada, uses=2), federated.new_key()
    good = enrolment_of(code, "d1", key)
    place = f"{F}/enrolments"
    problem(api().post(place, good | {"signature": "A" * 86}), 400, "invalid-request")
    problem(api().post(place, good | {"device": "d2"}), 400, "invalid-request")
    problem(api().post(place, good | {"device": "a\nb"}), 400, "invalid-request")
    wrong = enrolment_of("fe_wrong", "d1", key)
    problem(api().post(place, wrong), 403, "invite-invalid")
    assert not EnrolledDevice.objects.exists()
    assert api().post(place, good).status_code == 201
    problem(api().post(place, good), 409, "key-known")
    other = enrolment_of(code, "d1", federated.new_key())
    problem(api().post(place, other), 409, "key-known")
    assert api().post(place, enrolment_of(code, "d2", federated.new_key())).status_code == 201
    spent = enrolment_of(code, "d3", federated.new_key())
    problem(api().post(place, spent), 403, "invite-invalid")
    fresh = invite(api, ada)
    key_of = api(ada).get(f"{F}/invites").json()["items"][0]["id"]
    assert api(ada).delete(f"{F}/invites/{key_of}").status_code == 204
    late = enrolment_of(fresh, "d3", federated.new_key())
    problem(api().post(place, late), 403, "invite-invalid")


def test_the_shared_token_is_revoked_and_enrolled_devices_go_on(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    desire(api, ada, 1)
    old = with_token(api, shared)
    assert old.get(f"{F}/desired?device=d9").status_code == 200
    assert api(ada).get(F).json()["has_shared_token"] is True
    assert api(ada).delete(f"{F}/token").status_code == 204
    problem(old.get(f"{F}/desired?device=d9"), 401, "not-authenticated")
    assert device.get(f"{F}/desired").status_code == 200
    assert api(ada).get(F).json()["has_shared_token"] is False


def test_a_device_counts_by_itself_and_not_by_its_address(api, ada, shared, monkeypatch):
    first, _ = enrol(api, ada)
    second, _ = enrol(api, ada, "d2")
    monkeypatch.setattr(DeviceThrottle, "rate", "3/min", raising=False)
    caches["counters"].clear()
    states = [first.get(f"{F}/desired").status_code for _ in range(4)]
    assert states == [204, 204, 204, 429]
    assert second.get(f"{F}/desired").status_code == 204


def test_only_digests_are_stored_and_names_are_unique(api, ada, shared, versions):
    device, _ = enrol(api, ada)
    row = EnrolledDevice.objects.get()
    secret = device.headers["Authorization"].removeprefix("Bearer ")
    assert secret not in {str(value) for value in vars(row).values()}
    assert not AccessToken.objects.filter(digest=row.token_digest).exists()
    row.pk, row.token_digest, row.public_key = None, "0" * 64, "A" * 43
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()
