"""Codes of authenticator apps, and recovery codes, at sign-in."""

from __future__ import annotations

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.sessions.models import Session
from django.test import Client

from registry.core import usage
from registry.identity.models import SecurityEvent
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PASSWORD = "a long enough password"


def code_of(secret):
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def enter(client, name="ada", **more):
    return client.post("/login", {"username": name, "password": PASSWORD}, **more)


def confirmed(client):
    assert enter(client).status_code == 302
    client.post("/account/confirm", {"password": PASSWORD})


@pytest.fixture
def secret(ada):
    """Ada's account has an app; gives its key."""
    client = Client()
    confirmed(client)
    page = client.get("/account/factors/app").content.decode()
    secret = re.search(r"\b[A-Z2-7]{32}\b", page)[0]
    done = client.post("/account/factors/app", {"code": code_of(secret)})
    assert done.status_code == 302, done.content
    codes = client.get(done.url).content.decode()
    assert len(re.findall(r"<code>\d{8}</code>", codes)) == 10
    return secret


def is_in(client):
    return client.get("/account").status_code == 200


def entries():
    usage.notes.flush()
    kinds = SecurityEvent.objects.filter(kind__startswith="sign_in").order_by("pk")
    return list(kinds.values_list("kind", flat=True))


def test_a_password_alone_does_not_sign_in(secret):
    client = Client()
    before = entries()
    assert enter(client).url == "/login/code"
    assert not is_in(client)
    assert entries() == before
    assert client.get("/login/code").status_code == 200
    assert client.post("/login/code", {"code": "000000"}).status_code == 200
    assert not is_in(client)
    assert entries() == [*before, "sign_in_failed"]
    code = code_of(secret)
    assert client.post("/login/code", {"code": code}).status_code == 302
    assert is_in(client)
    assert entries() == [*before, "sign_in_failed", "sign_in"]
    # It signs in once, whoever saw it.
    other = Client()
    enter(other)
    assert other.post("/login/code", {"code": code}).status_code == 200
    assert not is_in(other)


def test_a_recovery_code_signs_in_once(ada, secret):
    row = Authenticator.objects.get(user=ada, type="recovery_codes")
    code = row.wrap().get_unused_codes()[0]
    client = Client()
    enter(client)
    assert client.post("/login/code", {"code": code}).status_code == 302
    assert is_in(client)
    second = Client()
    enter(second)
    assert second.post("/login/code", {"code": code}).status_code == 200
    assert not is_in(second)


def test_codes_are_guessed_as_slowly_as_passwords(ada, secret):
    client = Client()
    enter(client)
    statuses = [client.post("/login/code", {"code": "000000"}).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [429]
    assert enter(Client()).status_code == 429
    factories.user("carol")
    assert enter(Client(), "carol").status_code == 302


def test_secrets_are_sealed(ada, secret):
    for row in Authenticator.objects.filter(user=ada):
        assert secret not in str(row.data)
        assert str(row.data).count("gAAAAA") == 1


def test_a_session_alone_changes_no_factor(ada):
    client = Client()
    enter(client)
    for path in ("/account/factors/app", "/account/factors/passkeys/new"):
        assert client.get(path).url.startswith("/account/confirm"), path
    assert not Authenticator.objects.exists()


def test_an_app_is_turned_off_after_a_confirmation(ada, secret):
    client = Client()
    enter(client)
    row = Authenticator.objects.get(user=ada, type="recovery_codes")
    client.post("/login/code", {"code": row.wrap().get_unused_codes()[0]})
    assert client.post("/account/factors/app/off").status_code == 302
    assert Authenticator.objects.filter(user=ada).count() == 2
    client.post("/account/confirm", {"password": PASSWORD})
    assert client.post("/account/factors/app/off").status_code == 302
    assert not Authenticator.objects.filter(user=ada).exists()


@pytest.mark.parametrize("page", ["app", "codes", "codes/new", "passkeys/new"])
def test_a_guest_leaves_no_session_behind(page):
    for method in ("get", "post"):
        answer = getattr(Client(), method)(f"/account/factors/{page}", {"code": "0" * 6})
        assert answer.url.startswith("/login?next=")
    assert not Session.objects.exists()
