"""ID tokens that a provider, or someone between it and the hub, has not made for this sign-in."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from registry.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PLACES = {
    "authorization_endpoint": "/authorize",
    "token_endpoint": "/token",
    "userinfo_endpoint": "/userinfo",
    "jwks_uri": "/jwks",
}


class Provider:
    """An OpenID provider whose answers a test changes."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.claims, self.userinfo, self.metadata = {}, {"sub": "grace"}, {}
        self.signer, self.algorithm, self.sends_id_token = self.key, "RS256", True
        self.nonce = ""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(provider.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path == "/.well-known/openid-configuration":
            places = {name: f"{self.url}{place}" for name, place in PLACES.items()}
            return {"issuer": self.url, **places} | self.metadata
        if path == "/jwks":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [key | {"kid": "first", "alg": "RS256", "use": "sig"}]}
        if path == "/userinfo":
            return self.userinfo
        token = {"access_token": "opaque", "token_type": "Bearer"}
        return token | ({"id_token": self.id_token()} if self.sends_id_token else {})

    def id_token(self):
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": "hub",
            "sub": "grace",
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
        } | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        signer = self.signer if self.algorithm != "none" else None
        return jwt.encode(kept, signer, algorithm=self.algorithm, headers={"kid": "first"})


@pytest.fixture
def provider(settings):
    provider = Provider()
    settings.HUB_OIDC_ISSUER = provider.url
    settings.HUB_OIDC_CLIENT_ID, settings.HUB_OIDC_CLIENT_SECRET = "hub", "secret"
    yield provider
    provider.server.shutdown()
    provider.server.server_close()


def sign_in(provider, client):
    begun = client.post("/login/with/oidc")
    if begun.status_code != 302:
        return begun
    query = parse_qs(urlsplit(begun["Location"]).query)
    provider.nonce = query["nonce"][0]
    return client.get(f"/login/with/oidc/callback?code=c&state={query['state'][0]}")


def whoami(client):
    return client.get("/api/v1/whoami").json().get("username")


def test_a_token_for_this_sign_in_is_accepted(provider, client):
    assert sign_in(provider, client).status_code == 302
    assert whoami(client) is not None


def another_key(provider):
    provider.signer = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def no_signature(provider):
    provider.algorithm = "none"


def shared_secret(provider):
    provider.algorithm, provider.signer = "HS256", "a secret of at least thirty-two bytes"


def claim(**claims):
    def change(provider):
        provider.claims = claims

    return change


def no_token(provider):
    provider.sends_id_token = False


def another_subject(provider):
    provider.userinfo = {"sub": "mallory"}


FORGERIES = {
    "another key": another_key,
    "no signature": no_signature,
    "shared secret": shared_secret,
    "another audience": claim(aud="another"),
    "another issuer": claim(iss="https://id.example.org"),
    "expired": claim(exp=1),
    "no expiry": claim(exp=None),
    "no nonce": claim(nonce=None),
    "another nonce": claim(nonce="of another sign-in"),
    "no token": no_token,
    "another subject": another_subject,
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_token_that_is_not_for_this_sign_in_is_refused(provider, client, forge):
    forge(provider)
    answer = sign_in(provider, client)
    assert answer.status_code == 401
    assert "Not signed in" in answer.content.decode()
    assert whoami(client) is None
    assert User.objects.count() == 0


@pytest.mark.parametrize("issuer", ["https://id.example.org", None])
def test_a_provider_that_is_not_the_one_of_the_settings_is_refused(provider, client, issuer):
    provider.metadata = {"issuer": issuer}
    answer = sign_in(provider, client)
    assert answer.status_code == 503
    assert "must set HUB_OIDC_ISSUER" in answer.json()["detail"]
    assert whoami(client) is None


def test_each_sign_in_has_a_nonce_of_its_own(provider, client):
    sign_in(provider, client)
    nonces = {provider.nonce}
    client.post("/logout")
    sign_in(provider, client)
    assert len(nonces | {provider.nonce}) == 2
    assert whoami(client) is not None


def test_a_token_of_another_browser_is_refused(provider, client):
    other = Client()
    sign_in(provider, other)
    nonce = provider.nonce
    provider.claims = {"nonce": nonce}
    assert sign_in(provider, client).status_code == 401
    assert whoami(client) is None
