"""Trusted publishing with a real issuer on this machine, whose keys the test makes."""

from __future__ import annotations

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.models import AccessToken, Event, Namespace, User
from registry.people.services import service_accounts
from registry.publishers import identities, services
from registry.publishers.models import TrustedPublisher, UsedIdentity
from registry.versions.services import registered_models
from tests import factories, samples
from tests.api.people.test_limited_tokens import with_token
from tests.api.versions.test_models import problem

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("publishers"),
    pytest.mark.usefixtures("lists"),
]
PLACE = "namespaces/lab/publishers"
_ids = itertools.count()


class Issuer:
    """An OpenID provider: its keys and what it answers."""

    def __init__(self):
        self.asked = []
        self.keys = {"first": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
        self.answers = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                status, headers, body = issuer.answer(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, path):
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            return 200, {}, json.dumps({"jwks_uri": f"{self.url}/jwks"}).encode()
        if path == "/jwks":
            keys = [
                json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
                | {"kid": name, "alg": "RS256", "use": "sig"}
                for name, key in self.keys.items()
            ]
            return 200, {}, json.dumps({"keys": keys}).encode()
        return 404, {}, b"{}"

    def token(self, *, kid="first", key=None, headers=None, **claims):
        now = int(time.time())
        said = {
            "iss": self.url,
            "aud": "http://testserver",
            "iat": now,
            "exp": now + 300,
            "jti": str(next(_ids)),
            "repository": "acme/models",
            "repository_owner_id": "7",
            "job_workflow_ref": "acme/models/.github/workflows/publish.yml@refs/heads/main",
            "run_id": "99",
        } | claims
        said = {name: value for name, value in said.items() if value is not None}
        signer = key or self.keys[kid]
        return jwt.encode(said, signer, algorithm="RS256", headers={"kid": kid} | (headers or {}))


@pytest.fixture
def issuer(settings):
    server = Issuer()
    settings.HUB_PUBLIC_URL = "http://testserver"
    settings.HUB_PUBLISHER_ISSUERS = {server.url: "github"}
    identities._keys.clear()
    yield server
    server.server.shutdown()
    server.thread.join(10)
    server.server.server_close()


@pytest.fixture
def models(ada):
    factories.namespace(ada, "lab")
    return [factories.model(ada, name, slug="lab", visibility="private") for name in ("net", "x")]


def trust(api, ada, issuer, **fields):
    asked = {"issuer": issuer.url, "repository": "acme/models", "workflow": "publish.yml"}
    made = api(ada).post(PLACE, asked | {"model": "lab/net"} | fields)
    assert made.status_code == 201, made.content
    return made.json()


def exchange(api, token, **fields):
    return api().post("publishers/token", {"token": token} | fields)


def test_a_workflow_publishes_its_model_and_nothing_else(api, ada, issuer, models):
    assert trust(api, ada, issuer)["account"] == "lab+publisher"
    made = exchange(api, issuer.token())
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    row = AccessToken.objects.get(user__username="lab+publisher")
    lives = row.expires_at - timezone.now()
    assert 0 < lives.total_seconds() <= 15 * 60
    client = with_token(api, made.json()["token"])
    assert client.post("models/lab/net/versions", {}).status_code == 201
    put = client.put_file("models/lab/net/versions/1", "model.onnx", samples.mlp())
    assert put.status_code == 201
    sent = client.post("models/lab/net/versions/1/submit", {"publish": True})
    assert sent.status_code == 200
    problem(client.get("models/lab/x"), 404, "not-found")
    problem(client.post("models", {"namespace": "lab", "name": "new"}), 403, "not-allowed")
    used = Event.objects.get(verb="publisher.used")
    assert used.actor.username == "lab+publisher"
    assert (used.data["repository"], used.data["run"]) == ("acme/models", "99")


WRONG = {
    "another audience": ({"aud": "https://other.example.org"}, "audience"),
    "expired": ({"exp": int(time.time()) - 3600}, "expired"),
    "no end": ({"exp": None}, "exp"),
    "no id": ({"jti": None}, "jti"),
    "not begun": ({"nbf": int(time.time()) + 3600}, "not yet valid"),
    "another issuer": ({"iss": "https://evil.example.org"}, "HUB_PUBLISHER_ISSUERS"),
    "a workflow elsewhere": (
        {"job_workflow_ref": "evil/models/.github/workflows/publish.yml@refs/heads/main"},
        "another repository",
    ),
    "no repository": ({"repository": None}, "no claim repository"),
    "a list": ({"repository": ["acme/models"]}, "no claim repository"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_valid_is_refused(api, ada, issuer, models, case):
    trust(api, ada, issuer)
    claims, words = WRONG[case]
    refused = exchange(api, issuer.token(**claims))
    problem(refused, 401, "not-authenticated")
    assert words in refused.json()["detail"]
    assert not AccessToken.objects.filter(user__username="lab+publisher").exists()


OTHER = {
    "another repository": {
        "repository": "acme/other",
        "job_workflow_ref": "acme/other/.github/workflows/publish.yml@refs/heads/main",
    },
    "another workflow": {
        "job_workflow_ref": "acme/models/.github/workflows/test.yml@refs/heads/main"
    },
    "no environment": {},
    "another environment": {"environment": "staging"},
}


@pytest.mark.parametrize("case", OTHER)
def test_another_workflow_is_no_publisher(api, ada, issuer, models, case):
    trust(api, ada, issuer, environment="release")
    problem(exchange(api, issuer.token(**OTHER[case])), 403, "not-allowed")
    assert exchange(api, issuer.token(environment="release")).status_code == 201


def test_a_signature_of_another_key_is_refused(api, ada, issuer, models):
    trust(api, ada, issuer)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    problem(exchange(api, issuer.token(key=stranger)), 401, "not-authenticated")
    head, body, _ = issuer.token().split(".")
    problem(exchange(api, f"{head}.{body}."), 401, "not-authenticated")
    unsigned = jwt.encode({"iss": issuer.url, "jti": "1"}, None, algorithm="none")
    problem(exchange(api, unsigned), 401, "not-authenticated")
    public = issuer.keys["first"].public_key()
    secret = json.dumps(jwt.algorithms.RSAAlgorithm.to_jwk(public))
    symmetric = jwt.encode(
        {"iss": issuer.url, "jti": "1"}, secret, algorithm="HS256", headers={"kid": "first"}
    )
    problem(exchange(api, symmetric), 401, "not-authenticated")
    for text in ("", "x", "a.b.c", "é" * 200):
        assert exchange(api, text).status_code in (400, 401)


def test_an_identity_is_used_once(api, ada, issuer, models):
    trust(api, ada, issuer)
    token = issuer.token()
    assert exchange(api, token).status_code == 201
    again = exchange(api, token)
    problem(again, 401, "not-authenticated")
    assert "used already" in again.json()["detail"]
    UsedIdentity.objects.update(expires_at=timezone.now())
    assert services.clean() == 1


def test_keys_are_read_once_and_again_for_a_new_one(api, ada, issuer, models, monkeypatch):
    trust(api, ada, issuer)
    for _ in range(3):
        assert exchange(api, issuer.token()).status_code == 201
    assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]
    issuer.keys["second"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    problem(exchange(api, issuer.token(kid="second")), 401, "not-authenticated")
    assert len(issuer.asked) == 2
    monkeypatch.setattr(identities, "RETRY_SECONDS", 0.0)
    assert exchange(api, issuer.token(kid="second")).status_code == 201


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"Location": "http://127.0.0.1:1/"}, b""),
        (200, {}, b'{"jwks_uri": "http://169.254.169.254/keys"}'),
        (200, {}, b"[]"),
        (200, {}, b"{" * 5000),
        (200, {}, b" " * (identities.MOST_BYTES + 1)),
        (500, {}, b"{}"),
    ],
)
def test_an_issuer_leads_nowhere_else(api, ada, issuer, models, answer):
    trust(api, ada, issuer)
    issuer.answers["/.well-known/openid-configuration"] = answer
    problem(exchange(api, issuer.token()), 503, "unavailable")
    assert issuer.asked == ["/.well-known/openid-configuration"]


def test_a_name_that_another_owner_took_gets_no_token(api, ada, issuer, models):
    made = trust(api, ada, issuer)
    assert exchange(api, issuer.token()).status_code == 201
    refused = exchange(api, issuer.token(repository_owner_id="8"))
    problem(refused, 403, "not-allowed")
    assert "another owner" in refused.json()["detail"]
    assert api(ada).delete(f"{PLACE}/{made['id']}").status_code == 204
    problem(exchange(api, issuer.token()), 403, "not-allowed")


def test_one_of_several_models_is_named(api, ada, issuer, models):
    trust(api, ada, issuer)
    trust(api, ada, issuer, model="lab/x")
    problem(exchange(api, issuer.token()), 400, "invalid-request")
    made = exchange(api, issuer.token(), model="lab/x")
    assert made.status_code == 201
    client = with_token(api, made.json()["token"])
    assert client.get("models/lab/x").status_code == 200
    problem(client.get("models/lab/net"), 404, "not-found")
    problem(exchange(api, issuer.token(), model="lab/none"), 403, "not-allowed")


def test_a_publisher_of_the_organisation_may_create_models(api, ada, issuer, models):
    trust(api, ada, issuer, model="")
    client = with_token(api, exchange(api, issuer.token()).json()["token"])
    assert client.post("models", {"namespace": "lab", "name": "new"}).status_code == 201
    limited = with_token(api, exchange(api, issuer.token(), model="lab/x").json()["token"])
    problem(limited.get("models/lab/net"), 404, "not-found")


def test_a_model_that_left_is_published_by_nobody(api, ada, issuer, models):
    trust(api, ada, issuer)
    space = Namespace.objects.get(slug="ada")
    registered_models.move(ada, model=models[0], namespace=space, name="net")
    problem(exchange(api, issuer.token()), 403, "not-allowed")


def test_a_closed_account_gets_no_token(api, ada, issuer, models):
    trust(api, ada, issuer)
    account = User.objects.get(username="lab+publisher")
    account.service_of = models[0].namespace
    service_accounts.close(ada, account=account)
    problem(exchange(api, issuer.token()), 403, "not-allowed")


def test_claims_of_gitlab(api, ada, issuer, models, settings):
    settings.HUB_PUBLISHER_ISSUERS = {issuer.url: "gitlab"}
    trust(api, ada, issuer, repository="acme/group/models", workflow=".gitlab-ci.yml")
    host = issuer.url.partition("//")[2]
    claims = {
        "project_path": "acme/group/models",
        "namespace_id": "12",
        "ci_config_ref_uri": f"{host}/acme/group/models//.gitlab-ci.yml@refs/heads/main",
        "pipeline_id": "5",
    }
    assert exchange(api, issuer.token(**claims)).status_code == 201
    claims["ci_config_ref_uri"] = "gitlab.com/acme/group/models//.gitlab-ci.yml@refs/heads/main"
    problem(exchange(api, issuer.token(**claims)), 401, "not-authenticated")


def test_owners_alone_declare_publishers(api, ada, bob, issuer, models):
    asked = {"issuer": issuer.url, "repository": "acme/models", "workflow": "publish.yml"}
    problem(api(bob).post(PLACE, asked), 404, "not-found")
    problem(api(bob).get(PLACE), 404, "not-found")
    for field, value in (
        ("issuer", "https://evil.example.org"),
        ("repository", "acme"),
        ("workflow", "../publish.yml"),
        ("environment", "a\nb"),
    ):
        problem(api(ada).post(PLACE, asked | {field: value}), 400, "invalid-request")
    problem(api(ada).post(PLACE, asked | {"model": "ada/net"}), 404, "not-found")
    assert not TrustedPublisher.objects.exists()
    trust(api, ada, issuer)
    problem(api(ada).post(PLACE, asked | {"model": "lab/net"}), 409, "name-taken")
    trust(api, ada, issuer, model="")
    row = TrustedPublisher.objects.get(model=None)
    row.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


def test_the_page(ada, bob, client, issuer, models):
    client.force_login(ada)
    place = "/account/namespaces/lab/publishers"
    assert b"Trusted publishers" in client.get("/account/namespaces/lab").content
    fields = {
        "issuer": issuer.url,
        "repository": "acme/models",
        "workflow": "publish.yml",
        "environment": "release",
        "model": "lab/net",
        "account": "",
    }
    assert client.post(place, fields).status_code == 302
    text = client.get(place).content.decode()
    assert "hub publishers exchange - --model lab/net" in text
    assert "environment: release" in text
    assert "id-token: write" in text
    refused = client.post(place, fields | {"repository": "acme"})
    assert b"Write it as acme/models" in refused.content
    row = TrustedPublisher.objects.get()
    client.force_login(bob)
    assert client.get(place).status_code == 404
    assert client.post(f"{place}/{row.pk}/delete").status_code == 404
    client.force_login(ada)
    assert client.post(f"{place}/{row.pk}/delete").status_code == 302
    assert not TrustedPublisher.objects.exists()
