"""Who may know what, and how a refusal looks to a client of the Hub protocol."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.protocols.huggingface import errors
from tests import factories
from tests.api.protocols.huggingface.conftest import refused

pytestmark = pytest.mark.django_db
READS = [
    ("GET", "/api/models/ada/{name}"),
    ("GET", "/api/models/ada/{name}/revision/main"),
    ("GET", "/api/models/ada/{name}/tree/main"),
    ("POST", "/api/models/ada/{name}/paths-info/main"),
    ("GET", "/api/models/ada/{name}/commits/main"),
    ("GET", "/api/models/ada/{name}/refs"),
    ("GET", "/api/models/ada/{name}/auth-check"),
    ("GET", "/ada/{name}/resolve/main/model.onnx"),
    ("HEAD", "/ada/{name}/resolve/main/model.onnx"),
    ("HEAD", "/ada/{name}/raw/main/model.onnx"),
]


@pytest.fixture
def hidden(ada):
    return factories.version(ada, factories.model(ada, "hidden", visibility="private"))


def test_hidden_and_missing_are_one_answer_at_one_cost(api, ada, bob, hidden):
    reader = api(ada, ["read"])
    for method, address in READS:
        data = {"paths": []} if method == "POST" else None
        assert reader(method, address.format(name="hidden"), data).status_code == 200, address
        for caller, status in ((api(), 401), (api(bob), 404)):
            caller("HEAD", address.format(name="missing"))  # the token's use is noted once
            counts = []
            for name in ("hidden", "missing"):
                with CaptureQueriesContext(connection) as asked:
                    response = caller(method, address.format(name=name), data)
                refused(response, status, "RepoNotFound")
                assert response["X-Error-Message"].replace(name, "") == (
                    "Repository not found: ada/. Check the name; a private model needs a token "
                    "that may read it."
                )
                counts.append(len(asked))
            assert counts[0] == counts[1], address


@pytest.mark.usefixtures("lists")
def test_a_list_shows_what_is_hidden_to_its_own(api, ada, bob, hidden):
    assert [model["id"] for model in api(ada).get("/api/models").json()] == ["ada/hidden"]
    assert [model["private"] for model in api(ada).get("/api/models").json()] == [True]
    for caller in (api(), api(bob)):
        assert caller.get("/api/models").json() == []
        assert caller.get("/api/models?search=hidden&author=ada").json() == []


def test_a_token_that_is_none_is_said_to_be_so(api, hidden):
    wrong = api()
    wrong.headers["Authorization"] = "Bearer hf_nonsense"
    response = wrong.get("/api/whoami-v2")
    refused(response, 401)
    assert response["X-Error-Message"] == "Invalid credentials in Authorization header"


def test_whoami(api, ada):
    factories.namespace(ada, "lab")
    shown = api(ada, ["read"]).get("/api/whoami-v2").json()
    assert (shown["type"], shown["name"]) == ("user", "ada")
    assert [org["name"] for org in shown["orgs"]] == ["lab"]
    assert shown["auth"]["accessToken"]["displayName"] == "test"
    assert shown["auth"]["accessToken"]["role"] == "read"
    assert shown["auth"]["accessToken"]["createdAt"].endswith("Z")
    refused(api().get("/api/whoami-v2"), 401)


def test_whether_a_token_may_write(api, ada, bob, hidden):
    address = "/api/models/ada/hidden/auth-check/write"
    assert api(ada, ["write"]).get(address).status_code == 200
    refused(api(ada, ["read"]).get(address), 403)
    refused(api(bob).get(address), 404, "RepoNotFound")


@pytest.mark.parametrize(
    "path", ["api/datasets/a/b", "api/spaces/a/b", "datasets/a/b/resolve/main/x"]
)
def test_what_this_hub_does_not_keep(api, ada, path):
    refused(api().get(f"/{path}"), 401, "RepoNotFound")
    refused(api(ada)("HEAD", f"/{path}"), 404, "RepoNotFound")


def test_scripts_of_other_sites_may_ask(api, version):
    asked = api()(
        "OPTIONS", "/ada/net/resolve/main/config.json", Origin="https://elsewhere.example"
    )
    assert asked.status_code == 204
    assert asked["Access-Control-Allow-Origin"] == "*"
    allowed = asked["Access-Control-Allow-Headers"].split(", ")
    assert {"Authorization", "Range", "Content-Type"} <= set(allowed)
    for path in ("config.json", "nope"):
        answer = api().get(f"/ada/net/resolve/main/{path}")
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer
        exposed = set(answer["Access-Control-Expose-Headers"].split(", "))
        assert {"ETag", "X-Repo-Commit", "X-Error-Code", "Content-Range", "Link"} <= exposed


def test_a_flood_is_told_when_to_come_again(api, version, monkeypatch):
    from registry.api.throttles import AnonThrottle

    monkeypatch.setattr(AnonThrottle, "THROTTLE_RATES", {"anon": "1/min"})
    caller = api()
    caller.get("/api/models/ada/net")
    response = caller.get("/api/models/ada/net")
    refused(response, 429)
    assert 1 <= int(response["Retry-After"]) <= 121  # of two windows, for a rate of one
    assert response["RateLimit"] == f'"api";r=0;t={response["Retry-After"]}'


@pytest.mark.parametrize(
    ("card", "status", "says"),
    [
        ("---\nlicense: mit\n---\nText.", 200, ""),
        ("No front matter at all.", 200, ""),
        ("---\nlicense: [\n---\n", 400, "Line"),
        ("---\npipeline_tag: [a, b]\n---\n", 400, "pipeline_tag"),
    ],
)
def test_a_card_is_checked_before_it_is_sent(api, db, card, status, says):
    response = api().post("/api/validate-yaml", {"content": card, "repoType": "model"})
    assert response.status_code == status
    shown = response.json()
    assert set(shown) == {"errors", "warnings"}
    assert bool(shown["errors"]) is (status == 400)
    assert all(says in error["message"] for error in shown["errors"][:1])


def test_words_in_a_header_are_one_line_of_latin_1():
    assert errors.one_line("a\r\nX-Evil: 1\n\u00e9 \u2192 \x00b") == "a X-Evil: 1 \u00e9 ? b"
