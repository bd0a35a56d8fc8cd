"""Signing in on the page: slowed for guessers, and a password can be changed."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace

import pytest
from django.contrib.auth.management.commands.changepassword import Command
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client

from registry.core import rates
from registry.models import AccessToken, Event
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


def sign_in(client, password=PASSWORD, name="ada"):
    return client.post("/login", {"username": name, "password": password})


def rows():
    return Session.objects.count(), Event.objects.count()


def test_guessing_is_slowed_by_account_and_address(client, ada):
    before = rows()
    for _ in range(10):
        assert "Incorrect user name" in sign_in(client, "wrong").content.decode()
    refused = sign_in(client)
    problem(refused, 429, "throttled")
    assert "Too many failed sign-ins" in refused.json()["detail"]
    assert 1 <= int(refused["Retry-After"]) <= 66
    assert rows() == before
    assert "_auth_user_id" not in client.session
    factories.user("carol")
    assert sign_in(client, name="carol").status_code == 302


def test_a_refusal_is_a_page_for_people(client, ada):
    for _ in range(10):
        sign_in(client, "wrong")
    form = {"username": "ada", "password": PASSWORD}
    page = client.post("/login", form, headers={"Accept": "text/html"})
    assert page.status_code == 429
    assert "Too many failed sign-ins. Try again in" in page.content.decode()
    assert 1 <= int(page["Retry-After"]) <= 66


@pytest.mark.parametrize("name", ["ada", " ada", "ada ", "ada\u00a0", "\u3000ada", "\uff41da"])
def test_every_spelling_of_a_name_is_one_account(client, ada, name):
    for _ in range(10):
        sign_in(client, "wrong", name)
    assert sign_in(client, name="ada").status_code == 429


def test_names_of_no_account_are_refused_alike(client, ada, monkeypatch):
    monkeypatch.setattr(rates, "time", SimpleNamespace(time=lambda: 1_000_000.0))
    answers = {}
    for name in ("ada", "nobody"):
        for _ in range(10):
            sign_in(client, "wrong", name)
        refused = sign_in(client, name=name)
        answers[name] = refused.status_code, refused.json()["detail"]
    assert answers["ada"] == answers["nobody"] == (429, answers["ada"][1])


def test_one_address_cannot_try_many_names(client, ada):
    for number in range(50):
        assert sign_in(client, "wrong", f"name{number}").status_code == 200
    problem(sign_in(client), 429, "throttled")
    assert sign_in(client, name="name51").status_code == 429
    elsewhere = {"REMOTE_ADDR": "192.0.2.9"}
    form = {"username": "ada", "password": PASSWORD}
    assert client.post("/login", form, **elsewhere).status_code == 302


def test_a_crowd_that_is_refused_does_not_fill_the_log(client, ada, caplog):
    for _ in range(30):
        sign_in(client, "wrong")
    assert caplog.text.count("sign_in_refused") == 1


def test_the_log_names_account_and_address_of_each_sign_in(client, ada, caplog):
    caplog.set_level("INFO")
    sign_in(client, "wrong")
    sign_in(client, "wrong", name="a password typed here")
    assert sign_in(client).status_code == 302
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    attempts = [line for line in lines if str(line["event"]).startswith("sign_in")]
    assert [(line["event"], line["user"], line["address"]) for line in attempts] == [
        ("sign_in_failed", "ada", "127.0.0.1"),
        ("sign_in_failed", None, "127.0.0.1"),
        ("sign_in", "ada", "127.0.0.1"),
    ]
    assert all(line["request_id"] for line in attempts)
    assert "typed here" not in caplog.text
    assert PASSWORD not in caplog.text


def test_a_wrong_token_is_logged_once_a_minute_without_its_text(client, caplog):
    for _ in range(3):
        answer = client.get("/api/v1/whoami", headers={"Authorization": "Bearer hf_wrong"})
        assert answer.status_code == 401
    assert caplog.text.count("token_refused") == 1
    assert "hf_wrong" not in caplog.text


def test_a_sign_in_that_succeeds_gives_no_more_tries(client, ada, settings):
    settings.HUB_LIMITS_SIGN_IN_ADDRESS_RATE = "5/hour"
    factories.user("carol")
    for number in range(5):
        assert sign_in(Client(), name="carol").status_code == 302
        assert sign_in(client, "wrong", f"name{number}").status_code == 200
    assert sign_in(client).status_code == 429


def test_addresses_of_one_ipv6_subscriber_are_one(ada):
    form = {"username": "ada", "password": "wrong"}
    for number in range(10):
        answer = Client().post("/login", form, REMOTE_ADDR=f"2001:db8:1:2:{number}::1")
        assert answer.status_code == 200
    for address, status in (
        ("2001:db8:1:2:ffff::1", 429),
        ("2001:db8:1:3::1", 200),
        ("::ffff:192.0.2.1", 200),
    ):
        assert Client().post("/login", form, REMOTE_ADDR=address).status_code == status, address


def test_guessing_from_many_addresses_does_not_lock_the_owner_out(ada):
    own = Client()
    assert sign_in(own).status_code == 302
    own.post("/logout")
    form = {"username": "ada", "password": "wrong"}
    statuses = [
        Client().post("/login", form, REMOTE_ADDR=f"198.51.100.{number}").status_code
        for number in range(101)
    ]
    assert statuses == [200] * 100 + [429]
    stranger = form | {"password": PASSWORD}
    assert Client().post("/login", stranger, REMOTE_ADDR="203.0.113.1").status_code == 429
    assert sign_in(own).status_code == 302
    # The owner's browser has the usual number of tries, no more.
    own.post("/logout")
    assert [sign_in(own, "wrong").status_code for _ in range(11)] == [200] * 10 + [429]


def test_the_cookie_of_a_device_opens_no_other_account(ada, settings):
    settings.HUB_LIMITS_SIGN_IN_ACCOUNT_RATE = "20/hour"
    factories.user("carol")
    own = Client()
    sign_in(own, name="carol")
    own.post("/logout")
    (name,) = (name for name in own.cookies if name.startswith("device-"))
    assert own.cookies[name]["httponly"]
    assert own.cookies[name]["path"] == "/login"
    for number in range(20):
        form = {"username": "ada", "password": "wrong"}
        Client().post("/login", form, REMOTE_ADDR=f"198.51.100.{number}")
    assert sign_in(own).status_code == 429
    other = Client()
    sign_in(other)
    forged = next((key for key in other.cookies if key.startswith("device-")), "device-x")
    own.cookies[forged] = own.cookies[name].value
    assert sign_in(own).status_code == 429


def test_the_old_password_cannot_be_guessed_in_a_session(client, ada):
    sign_in(client)
    new = "another long password"
    fields = {"old_password": "x", "new_password1": new, "new_password2": new}
    for _ in range(10):
        assert client.post("/account/password", fields).status_code == 200
    refused = client.post("/account/password", fields | {"old_password": PASSWORD})
    problem(refused, 429, "throttled")
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    # Neither the session nor another browser of the owner is hindered by it.
    assert client.get("/account").status_code == 200
    assert sign_in(Client()).status_code == 302


def test_counting_goes_on_while_the_cache_is_away(client, ada, settings):
    settings.CACHES = settings.CACHES | {
        "counters": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    for _ in range(10):
        assert sign_in(client, "wrong").status_code == 200
    assert sign_in(client).status_code == 429


def change(client, **fields):
    new = "another long password"
    return client.post(
        "/account/password",
        {"old_password": PASSWORD, "new_password1": new, "new_password2": new} | fields,
        follow=True,
    )


def test_a_password_is_changed(client, ada):
    sign_in(client)
    page = client.get("/account/password")
    assert page.status_code == 200
    wrong = change(client, old_password="x")
    assert wrong.status_code == 200
    assert "entered incorrectly" in wrong.content.decode()
    done = change(client)
    assert "Your password is changed." in done.content.decode()
    client.post("/logout")
    assert sign_in(client, "another long password").status_code == 302
    assert client.session["_auth_user_id"] == str(ada.pk)


@pytest.mark.parametrize("revoke", [False, True])
def test_a_change_ends_other_sessions_and_tokens_by_choice(client, api, ada, revoke):
    other, program = Client(), api(ada)
    sign_in(other)
    sign_in(client)
    done = change(client, **({"revoke_tokens": "on"} if revoke else {}))
    assert client.get("/account").status_code == 200
    assert other.get("/account")["Location"] == "/login?next=/account"
    assert program.get("whoami").status_code == (401 if revoke else 200)
    text = done.content.decode()
    assert ("Your access tokens are revoked" in text) is revoke
    assert ("Your access tokens still work" in text) is not revoke
    assert Event.objects.get(verb="user.password").data["tokens_revoked"] == int(revoke)


@pytest.mark.parametrize("way", ["administrator", "page", "command"])
def test_a_reset_ends_every_session_and_token(client, api, ada, admin, way):
    sign_in(client)
    program, others = api(ada), api(admin)
    if way == "administrator":
        assert others.post("users/ada/password").status_code == 200
    elif way == "page":
        browser = Client()
        browser.force_login(admin)
        assert browser.post("/administration/accounts/ada/password").status_code == 200
    else:
        command = Command()
        command._get_pass = lambda *_, **__: "another long password"
        call_command(command, "ada", stdout=StringIO())
    assert client.get("/account")["Location"] == "/login?next=/account"
    problem(program.get("whoami"), 401, "not-authenticated")
    assert AccessToken.objects.filter(user=ada).count() == 0
    assert others.get("whoami").status_code == 200


def test_hashing_a_password_anew_keeps_tokens(client, api, ada, settings):
    program = api(ada)
    hasher = "django.contrib.auth.hashers.PBKDF2PasswordHasher"
    settings.PASSWORD_HASHERS = [hasher, *settings.PASSWORD_HASHERS]
    assert sign_in(client).status_code == 302
    ada.refresh_from_db()
    assert ada.password.startswith("pbkdf2_sha256$")
    assert program.get("whoami").status_code == 200
