"""Fleets: a version goes to a share of the devices, which report; too many failures halt it."""

from __future__ import annotations

import pytest
from django.test import Client

from registry.federated.models import Fleet
from registry.federated.services import fleets
from tests import factories, learning
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("federated"), pytest.mark.django_db]
PATH = "models/ada/net/fleets"


@rows
def start():
    ada = factories.user("ada")
    model = factories.model(ada)
    later = f"{factories.CARD}\nIt learned more.\n"
    return ada, factories.version(ada, model), factories.version(ada, model, card=later)


@pytest.fixture
def ada(start):
    return fresh(start[0])


@pytest.fixture
def fleet(api, ada):
    made = api(ada).post(PATH, {"name": "shops", "halt_percent": 40})
    assert made.status_code == 201, made.content
    device = api()
    device.headers["Authorization"] = f"Bearer {made.json()['token']}"
    return device


def desire(api, ada, number, percent=100):
    answer = api(ada).put(f"{PATH}/shops/desired", {"version": number, "percent": percent})
    assert answer.status_code == 200, answer.content
    return answer.json()


def versions(fleet, names):
    return [fleet.get(f"{PATH}/shops/desired?device={name}").json()["version"] for name in names]


def report(fleet, device, version, result="ok"):
    answer = fleet.put(
        f"{PATH}/shops/devices/{device}",
        {"running": f"sha256:{version.manifest_sha256}", "result": result},
    )
    assert answer.status_code == 204, answer.content


def test_a_version_goes_to_a_share_and_the_rest_keeps_its_own(api, ada, start, fleet):
    assert fleet.get(f"{PATH}/shops/desired?device=d0").status_code == 204
    desire(api, ada, 1)
    names = [f"d{index}" for index in range(100)]
    assert set(versions(fleet, names[:9])) == {1}
    told = desire(api, ada, 2, percent=30)
    assert (told["stable"], told["desired"]) == (1, 2)
    row = Fleet.objects.get()
    steps = {name: fleets.place_of(row, name) for name in names}
    assert 10 < sum(step < 30 for step in steps.values()) < 50
    early = next(name for name, step in steps.items() if step < 30)
    later = next(name for name, step in steps.items() if step >= 30)
    assert versions(fleet, [early, later]) == [2, 1]
    desire(api, ada, 2, percent=100)
    assert versions(fleet, [early, later]) == [2, 2]
    answer = fleet.get(f"{PATH}/shops/desired?device={early}")
    assert answer.json()["manifest_digest"] == f"sha256:{start[2].manifest_sha256}"
    again = fleet.get(f"{PATH}/shops/desired?device={early}", If_None_Match=answer["ETag"])
    assert again.status_code == 304


def test_too_many_failures_halt_a_rollout(api, ada, start, fleet):
    desire(api, ada, 1)
    desire(api, ada, 2, percent=99)
    for index, result in enumerate(["ok", "ok", "failed", "ok"]):
        report(fleet, f"d{index}", start[2], result)
    assert not Fleet.objects.get().is_halted
    report(fleet, "d4", start[1], "failed")  # of the version before: says nothing of this one
    assert not Fleet.objects.get().is_halted
    report(fleet, "d5", start[2], "failed")
    told = api(ada).get(f"{PATH}/shops").json()
    assert (told["is_halted"], told["reports"]) == (True, {"ok": 3, "failed": 2})
    assert set(versions(fleet, ["d0", "d1", "d2"])) == {1}
    assert not desire(api, ada, 2)["is_halted"]


def test_a_yanked_version_is_commanded_to_no_device(api, ada, start, fleet):
    desire(api, ada, 1)
    desire(api, ada, 2, percent=100)
    assert set(versions(fleet, ["d0", "d1"])) == {2}
    refused = api(ada).post("models/ada/net/versions/2/yank", {"reason": "It forgets."})
    assert refused.json()["dependents"] == [{"kind": "fleet", "name": "ada/net/fleets/shops"}]
    reason = {"reason": "It forgets.", "breaks_dependents": True}
    yanked = api(ada).post("models/ada/net/versions/2/yank", reason)
    assert yanked.status_code == 200, yanked.content
    assert set(versions(fleet, ["d0", "d1"])) == {1}
    told = api(ada).get(f"{PATH}/shops").json()
    assert (told["desired"], told["desired_state"]) == (2, "yanked")
    assert "Version 2 is yanked." in page(ada, "fleets/shops")
    assert "yanked" in page(ada, "trainings")
    # Nor does it become what the others keep when another version takes its place.
    later = factories.version(ada, start[1].model, card=f"{factories.CARD}\nThird.\n")
    assert desire(api, ada, later.number, percent=0)["stable"] == 1
    api(ada).post("models/ada/net/versions/1/yank", reason)
    assert fleet.get(f"{PATH}/shops/desired?device=d0").status_code == 204


def page(user, path):
    browser = Client()
    browser.force_login(user)
    return browser.get(f"/models/ada/net/{path}").content.decode()


def test_only_maintainers_and_the_fleets_own_devices_are_answered(api, ada, bob, fleet):
    path = f"{PATH}/shops/desired?device=d0"
    assert api(bob).get(path).status_code == 403
    assert api().get(path).status_code == 401
    other = api(ada).post(PATH, {"name": "trams"})
    stranger = api()
    stranger.headers["Authorization"] = f"Bearer {other.json()['token']}"
    assert stranger.get(path).status_code == 401
    for answer in (
        fleet.put(f"{PATH}/shops/desired", {"version": 1}),
        fleet.get(f"{PATH}/shops"),
        fleet.post(PATH, {"name": "more"}),
    ):
        assert answer.status_code == 401
    taken = api(ada).post(PATH, {"name": "shops"})
    assert (taken.status_code, learning.slug(taken)) == (409, "name-taken")
