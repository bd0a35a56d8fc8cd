"""Parameters of addresses: what a list does not know is a 400 that names the near ones."""

from __future__ import annotations

import re

import pytest

from registry.api import parameters
from registry.protocols.huggingface import repos
from tests import openapi_server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
DOCUMENT = openapi_server.document()
PLACES = {
    "number": "1",
    "webhook_id": "1",
    "pk": "1",
    "id": "1",
    "discussion": "1",
    "comment": "1",
    "round_number": "1",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "digest": "0" * 64,
    "sha256": "0" * 64,
}
UNKNOWN = "no_such_parameter"


def addresses():
    """Each list and whatever documents parameters, with examples in its places, and their names."""
    for path, operations in DOCUMENT["paths"].items():
        told = operations.get("get", {}).get("parameters", [])
        names = [one["name"] for one in told if one["in"] == "query"]
        if names or is_list(operations.get("get")):
            yield re.sub(r"\{(\w+)\}", lambda found: PLACES.get(found[1], "x"), path), names


def is_list(operation):
    """Whether an operation answers with a page of items."""
    if operation is None:
        return False
    content = operation["responses"].get("200", {}).get("content", {})
    shape = content.get("application/json", {}).get("schema", {}).get("$ref", "")
    found = DOCUMENT["components"]["schemas"].get(shape.rpartition("/")[2], {})
    return "items" in found.get("properties", {})


READ = dict(addresses())
# A part of an address -> the capability that offers it.
CAPABILITIES = {
    "collections": "community", "discussions": "community", "watching": "community",
    "fleets": "federated", "participants": "federated", "trainings": "federated",
    "mirrors": "mirrors", "webhooks": "webhooks",
}  # fmt: skip


def marked(path):
    """A path as a parameter of a test, which runs where the capability behind it is offered."""
    names = {CAPABILITIES[part] for part in path.split("/") if part in CAPABILITIES}
    return pytest.param(path, marks=[pytest.mark.capability(name) for name in names])


def refused(answer):
    return answer.status_code == 400 and "Unknown parameter" in answer.json()["detail"]


@pytest.mark.parametrize("path", [marked(path) for path in READ])
def test_every_address_of_the_api_refuses_what_it_does_not_know(api, path):
    assert len(READ) > 20
    answer = api().get(f"{path}?{UNKNOWN}=1")
    assert refused(answer), answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["errors"][0]["pointer"] == f"/{UNKNOWN}"
    for name in READ[path]:
        assert not refused(api().get(f"{path}?{name}=1")), name


def test_near_names_are_named(api):
    told = api().get("benchmarks?devise=x&contribted=1").json()
    assert told["near"] == {"devise": ["device"], "contribted": ["contributed"]}
    assert "Did you mean 'device'?" in told["detail"] or "Did you mean device?" in told["detail"]
    assert api().get("models?taks=x").json()["near"]["taks"] == ["task"]
    assert api().get("models?parameters=1").json()["near"]["parameters"] == ["max_parameters"]
    assert "Known: " in api().get("jobs?zzz=1").json()["detail"]
    assert api().get("jobs?state=busy").status_code == 400
    assert refused(api().get("models?task[]=x"))  # only the Hub protocol writes lists so


PAGES = {
    "/models": "task",
    "/models/suggest": "q",
    "/compare": "m",
    "/compare.csv": "m",
    "/benchmarks": "device",
    "/devices/any": "",
    "/runtimes/any": "",
    "/models/a/b/v/1/benchmarks": "batch",
    "/models/a/b/v/1/conformance": "variant",
    "/models/a/b/versions": "before",
    "/models/a/b/trainings": "before",
    "/datasets": "q",
    "/trainings": "before",
    "/jobs": "state",
    "/scoreboard": "",
    "/scoreboard/onnxruntime/1.0": "operator",
    "/catalog": "after",
    "/docs": "q",
}


@pytest.mark.parametrize("path", [marked(path) for path in PAGES])
def test_every_list_of_pages_refuses_what_it_does_not_know(client, path, graphs):
    page = client.get(f"{path}?{UNKNOWN}=1", headers={"Accept": "text/html"})
    assert page.status_code == 400
    assert UNKNOWN in page.content.decode()
    assert refused(client.get(f"{path}?{UNKNOWN}=1"))
    if name := PAGES[path]:
        assert client.get(f"{path}?{name}x=1").json()["near"][f"{name}x"][0] == name
        known = client.get(f"{path}?{name}=1")
        assert known.status_code != 400 or not refused(known)


def test_values_that_a_page_cannot_read_are_refused_too(client):
    for path in (
        "/models?sort=prettiest",
        "/benchmarks?max_bytes=large",
        "/benchmarks?sort=beauty",
        "/jobs?state=busy",
    ):
        assert client.get(path).status_code == 400, path


def test_what_clients_of_the_hub_protocol_send_stays_accepted(client):
    for name in repos.OPTIONS:
        if name not in ("num_parameters", "cursor"):  # refused and decoded for reasons of their own
            value = "" if name == "sort" else "1"
            assert client.get(f"/api/models?{name}={value}").status_code == 200, name
            assert client.get(f"/api/models?{name}[]={value}").status_code == 200, name
    answer = client.get("/api/models?serach=x")
    assert answer.status_code == 400
    assert "search" in answer["X-Error-Message"]


def test_one_name_is_near_another_or_is_not():
    known = frozenset({"device", "max_bytes", "runtime"})
    for given, near in (("devices", ["device"]), ("bytes", ["max_bytes"]), ("zzz", [])):
        assert parameters._near(given, known) == near


def choices():
    """Each parameter of lists of models that is one of a few words, with these words."""
    for one in DOCUMENT["paths"]["/api/v1/models"]["get"]["parameters"]:
        schema = one["schema"]
        if words := schema.get("enum") or schema.get("items", {}).get("enum"):
            yield one["name"], words


@pytest.mark.parametrize(("name", "words"), list(choices()))
def test_a_value_that_is_no_choice_is_refused_with_the_choices(api, name, words):
    answer = api().get(f"/api/v1/models?{name}=no-such-choice")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    refusal, _, choice_list = error["detail"].partition(" Choose one of ")
    assert refusal == '"no-such-choice" is not a valid choice.'
    assert sorted(choice_list.removesuffix(".").split(", ")) == sorted(words)
    assert error["detail"] in answer.json()["detail"]


def test_a_body_with_a_value_that_is_no_choice_is_refused_with_the_choices(api, ada):
    sent = {"namespace": "ada", "name": "m", "visibility": "secret"}
    answer = api(ada).post("/api/v1/models", sent)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/visibility"
    assert error["detail"].startswith('"secret" is not a valid choice. Choose one of ')
    assert {"public", "private"} <= set(re.findall(r"\w+", error["detail"]))
