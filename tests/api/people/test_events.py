"""The audit log over HTTP: who may read it, and what of it."""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from registry.core import event_verbs
from registry.core.events import record
from registry.federated.models import Participant, Training
from registry.models import Event
from runners.models import HoldState
from tests import factories
from tests.api.versions.test_models import problem

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]


def listed(client, **query):
    """The events of every page of a list, oldest first."""
    path, rows = "events?" + "&".join(f"{name}={value}" for name, value in query.items()), []
    while path:
        page = client.get(path).json()
        rows += page["items"]
        path = (page["next"] or "").removeprefix("http://testserver")
    return rows[::-1]


@pytest.fixture(autouse=True)
def _public_url(settings):
    settings.HUB_PUBLIC_URL = "http://testserver"


def test_only_administrators_read_events(api, ada, admin):
    problem(api().get("events"), 401, "not-authenticated")
    for client in (api(ada), api(admin, ["publish"]), api(admin, namespace="zoo")):
        problem(client.get("events"), 403, "not-allowed")
        problem(client.get("events?actor=nobody"), 403, "not-allowed")
    assert api(admin).get("events").status_code == 200


def test_an_event_names_its_request(api, ada, admin):
    reader = api(admin)
    answer = api(ada).post("models", {"namespace": "ada", "name": "net"}, X_Request_Id="trial-1")
    assert answer.status_code == 201
    [event] = listed(reader, request_id="trial-1")
    assert (event["actor"], event["verb"]) == ("ada", "model.created")
    assert (event["subject_kind"], event["model"]) == ("registeredmodel", "ada/net")
    stored = Event.objects.get(pk=event["id"])
    assert (event["subject_id"], event["data"]) == (stored.subject_id, stored.data)


def test_an_unknown_verb_is_named_with_the_nearest_ones(api, admin):
    client = api(admin)
    assert listed(client, verb="user.closed") == []
    answer = problem(client.get("events?verb=user.close"), 400, "invalid-request")
    assert answer["errors"][0]["pointer"] == "/verb"
    assert "Did you mean user.closed" in answer["errors"][0]["detail"]
    answer = problem(client.get("events?verb=xyz"), 400, "invalid-request")
    assert answer["detail"] == "No event has the verb 'xyz'."


def recorded_verbs():
    """The verbs that the source of the hub names where it records events."""
    for room in ("registry", "runners", "metadata", "frontend", "hub"):
        for path in (ROOT / room).rglob("*.py"):
            for call in ast.walk(ast.parse(path.read_text())):
                if (
                    isinstance(call, ast.Call)
                    and ast.unparse(call.func) in ("events.record", "_record")
                    and isinstance(call.args[0], ast.Constant)
                ):
                    yield call.args[0].value


@pytest.mark.capability("community", "federated", "mirrors")
def test_every_verb_of_the_source_is_declared():
    verbs = set(recorded_verbs())
    assert len(verbs) > 60
    verbs |= {f"participant.{state}" for state in Participant.State}
    verbs |= {f"training.{state}" for state in Training.State if state != Training.State.DRAFT}
    verbs |= {f"pool.{state}" for state in HoldState}
    verbs |= {f"{kind}.{verb}" for kind in ("alias", "tag") for verb in ("moved", "deleted")}
    assert verbs <= event_verbs.names()


def test_filters(api, ada, bob, admin):
    net, other = factories.model(ada), factories.model(bob, "other")
    record("model.edited", net, actor=bob, model=net)
    record("model.edited", other, actor=None, model=other)
    client = api(admin)
    every = listed(client, limit=2)
    assert [row["id"] for row in every] == sorted(Event.objects.values_list("pk", flat=True))
    assert {row["actor"] for row in listed(client, actor="BOB")} == {"bob"}
    assert {row["verb"] for row in listed(client, verb="model.edited")} == {"model.edited"}
    assert {row["model"] for row in listed(client, model="Ada/Net")} == {"ada/net"}
    kinds = listed(client, subject="registeredmodel")
    assert {row["subject_id"] for row in kinds} == {str(net.pk), str(other.pk)}
    one = listed(client, subject=f"registeredmodel/{net.pk}", verb="model.edited")
    assert [(row["actor"], row["model"]) for row in one] == [("bob", "ada/net")]
    problem(client.get("events?actor=nobody"), 404, "not-found")
    problem(client.get("events?model=ada/none"), 400, "invalid-request")
    problem(client.get("events?since=yesterday"), 400, "invalid-request")
    problem(client.get("events?user=ada"), 400, "invalid-request")


def test_the_time_of_an_event(api, ada, admin):
    start = timezone.now() - timedelta(days=3)
    for hours in range(3):
        factories.event(ada, at=start + timedelta(hours=hours))
    since, until = (f"{start + timedelta(hours=at):%Y-%m-%dT%H:%M:%S.%fZ}" for at in (1, 2))
    early = listed(api(admin), until=since)
    assert len(early) == 1
    assert len(listed(api(admin), since=since)) == Event.objects.count() - 1
    [middle] = listed(api(admin), since=since, until=until)
    assert middle["at"] == since


def test_the_events_of_a_deleted_model(api, ada, admin):
    model = factories.model(ada)
    assert api(ada).delete("models/ada/net").status_code == 204
    assert listed(api(admin), model="ada/net")[-1]["verb"] == "model.deleted"
    assert listed(api(admin), model="ada/net")[-1]["subject_id"] == str(model.pk)
