"""HUB_GUESTS=none: every address demands sign-in, but for health, sign-in and what it needs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from frontend.parts import client_wheel
from hub.server.public_files import PublicFiles
from tests import factories
from tests.api.test_reads import addresses, everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists", "graphs")]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Open on every hub: they sign in, tell that the hub lives, or demand a secret of their own.
OPEN = {
    "client",
    f"client/{client_wheel.NAME}",
    "healthz",
    "readyz",
    "metrics",
    "theme",
    "login",
    "login/inactive",
    "login/reset",
    "login/reset/sent",
    "login/reset/done",
    "login/reset/1-wrong",
    "login/with/oidc",
    "login/with/oidc/callback",
    "login/with/saml",
    "login/with/saml/acs",
    "login/with/saml/metadata",
    "login/cancelled",
    "login/code",
    "account/new",
    "account/new/wrong",
    "account/email/sent",
    "account/email/wrong",
    "api/lfs/fetch/none",
    "api/v1/models/ada/net/fleets/field/enrolments",
    "api/v1/publishers/token",
    "watching/digest/wrong",
}


@pytest.fixture
def closed(settings):
    settings.HUB_GUESTS = "none"


def is_refused(answer):
    if answer.status_code == 302:
        return answer["Location"].startswith("/login?next=")
    return answer.status_code in (401, 403)


def is_preflight(method, answer):
    """What a browser asks before a request of another site; it has no content."""
    return method == "OPTIONS" and answer.status_code == 204 and not answer.content


def leads_somewhere(path):
    """Whether it is an address: not a regular expression, and with an ending of its route."""
    try:
        return resolve(f"/{path}") is not None
    except Resolver404:
        return False


@pytest.mark.capability("identity")
@pytest.mark.capability("community")
@pytest.mark.capability("federated")
def test_no_address_answers_a_guest(ada, closed):
    names, special, _ = everything(ada)
    paths = sorted({path for path in addresses(names, special) if leads_somewhere(path)})
    assert len(paths) > 250
    answered = []
    for path in paths:
        for method in METHODS:
            headers = {"Accept": "text/html, */*"} if method == "HEAD" else {}
            answer = Client().generic(method, f"/{path}", headers=headers)
            content = b"" if answer.streaming else answer.content
            is_open = path in OPEN or is_preflight(method, answer)
            if not (is_open or is_refused(answer)) or b"net" in content.replace(b"network", b""):
                answered.append((method, path, answer.status_code))
    assert answered == []


def test_a_token_and_a_session_read_as_before(ada, api, closed):
    factories.version(ada)
    browser = Client()
    browser.force_login(ada)
    for path in ("/", "/models", "/models/ada/net", "/docs"):
        assert browser.get(path).status_code == 200, path
    assert api(ada).get("models/ada/net").status_code == 200
    assert api(ada, scopes=("read",)).get("models").status_code == 200
    asked = Client().get("/models/ada/net?q=1", headers={"Accept": "text/html"})
    assert asked["Location"] == "/login?next=/models/ada/net%3Fq%3D1"


def test_a_name_that_is_there_and_one_that_is_not_are_refused_alike(ada, closed):
    factories.version(ada)
    for place in ("/api/v1/models/ada/%s", "/ada/%s/resolve/main/model.onnx", "/models/ada/%s"):
        answers = [Client().get(place % name) for name in ("net", "none")]
        texts = [answer.content.replace(answer["X-Request-Id"].encode(), b"") for answer in answers]
        assert texts[0] == texts[1], place
        assert {answer.status_code for answer in answers} == {401}


@pytest.mark.capability("git")
@pytest.mark.capability("oci")
def test_clients_are_asked_for_a_token_in_their_own_way(ada, closed):
    factories.version(ada)
    challenges = {
        "/api/v1/models/ada/net": "Bearer",
        "/api/models/ada/net": "Bearer",
        "/models/ada/net": "Bearer",
        "/ada/net/info/refs?service=git-upload-pack": "Basic",
        "/v2/": 'Bearer realm="http://testserver/v2/token"',
        "/v2/ada/net/tags/list": 'Bearer realm="http://testserver/v2/token"',
    }
    for path, challenge in challenges.items():
        answer = Client().get(path)
        assert answer.status_code == 401, path
        assert answer["WWW-Authenticate"].startswith(challenge), path
    assert Client().get("/v2/token").status_code == 401
    guest = {"Authorization": "Bearer anonymous"}
    assert Client().get("/v2/ada/net/tags/list", headers=guest).status_code == 401
    secret = factories.base64_text(f"ada:{factories.token(ada)}")
    own = {"Authorization": f"Basic {secret}"}
    assert Client().get("/v2/token", headers=own).status_code == 200
    refs = "/ada/net/info/refs?service=git-upload-pack"
    assert Client().get(refs, headers=own).status_code == 200


def test_files_go_the_way_that_asks_who_reads_and_no_shared_cache_has_them(ada, api, closed):
    factories.version(ada)
    path = "/api/v1/models/ada/net/versions/1/files/model.onnx"
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.file_wrapper": None}
    assert PublicFiles(lambda *_: ()).direct(environ) is None
    answer = api(ada).get("models/ada/net/versions/1/files/model.onnx")
    assert answer.status_code == 200
    assert "private" in answer["Cache-Control"]
    assert "public" not in answer["Cache-Control"]


@pytest.mark.capability("sparql")
def test_queries_need_a_token(ada, closed):
    secret = {"Authorization": f"Bearer {factories.token(ada)}"}
    assert Client().get("/sparql").status_code == 401
    assert Client().get("/sparql", headers=secret).status_code == 200
    wrong = {"Authorization": "Bearer hf_wrong"}
    assert Client().get("/sparql", headers=wrong).status_code == 401


@pytest.mark.capability("federated")
def test_devices_of_a_fleet_pass_with_their_token(ada, closed):
    from registry.federated.services import fleets

    version = factories.version(ada)
    _, secret = fleets.create(ada, model=version.model, name="field")
    path = "/api/v1/models/ada/net/fleets/field/desired?device=d1"
    known = Client().get(path, headers={"Authorization": f"Bearer {secret}"})
    assert known.status_code != 401
    wrong = Client().get(path, headers={"Authorization": "Bearer ff_wrong"})
    assert wrong.status_code == 401


def test_all_is_the_default(ada, settings):
    factories.version(ada)
    assert settings.HUB_GUESTS == "all"
    assert Client().get("/models/ada/net").status_code == 200
