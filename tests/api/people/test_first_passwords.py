"""A password that someone else made, or that the rules refuse by now, is changed at sign-in."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from registry.models import User
from registry.people.services import users
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
NEW = "another long password"


def sign_in(client, password):
    return client.post("/login", {"username": "ada", "password": password})


def change(client, old, new=NEW):
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/account/password", form)


def is_led_to_change(client):
    return client.get("/account").headers.get("Location") == "/account/password"


def test_every_page_leads_to_the_change_of_a_first_password(api, admin):
    secret = api(admin).post("users", {"username": "ada"}).json()["password"]
    client = Client()
    assert sign_in(client, secret).status_code == 302
    for path in ("/", "/models", "/account/tokens", "/docs", "/ada/net"):
        assert client.get(path)["Location"] == "/account/password", path
    assert client.post("/account/tokens", {"name": "t"})["Location"] == "/account/password"
    problem(client.get("/api/v1/whoami"), 403, "not-allowed")
    form = {"name": "t", "scopes": ["read"]}
    refused = client.post("/api/v1/tokens", form, content_type="application/json")
    problem(refused, 403, "not-allowed")
    assert "Choose a new password." in client.get("/account/password").content.decode()
    assert change(client, secret, new="short").status_code == 200
    assert is_led_to_change(client)
    assert change(client, secret).status_code == 302
    assert client.get("/account").status_code == 200
    assert client.get("/api/v1/whoami").status_code == 200


@pytest.mark.capability("sparql")
def test_the_sparql_endpoint_takes_no_notice_of_sessions(api, admin):
    secret = api(admin).post("users", {"username": "ada"}).json()["password"]
    client = Client()
    sign_in(client, secret)
    assert is_led_to_change(client)
    answer = client.get("/sparql")
    assert answer.status_code == 200
    assert "Cookie" not in answer["Vary"]


def test_a_reset_by_an_administrator_is_for_one_sign_in(api, ada, admin):
    secret = api(admin).post("users/ada/password").json()["password"]
    client = Client()
    sign_in(client, secret)
    assert is_led_to_change(client)
    # A token that the operator makes on the machine does not depend on the password.
    assert api(ada).get("whoami").status_code == 200
    client.post("/logout")
    assert client.get("/login").status_code == 200


def test_a_password_of_before_the_rules_is_changed_at_sign_in(ada):
    ada.set_password("12 letters..")
    ada.save()
    client = Client()
    sign_in(client, "12 letters..")
    assert is_led_to_change(client)
    assert change(client, "12 letters..").status_code == 302
    assert not User.objects.get().must_change_password


@pytest.mark.capability("identity")
def test_with_a_second_factor_a_password_may_be_short(ada):
    from allauth.mfa.models import Authenticator

    factor = Authenticator.objects.create(user=ada, type="totp", data={})
    client = Client()
    client.force_login(ada)
    assert change(client, "a long enough password", new="7 signs").status_code == 200
    assert change(client, "a long enough password", new="8 signs.").status_code == 302
    assert client.get("/account").status_code == 200
    assert User.objects.get().has_short_password
    factor.delete()
    users.expect_long_password(User.objects.get())
    assert is_led_to_change(client)


@pytest.mark.capability("identity")
def test_a_longer_password_is_asked_for_when_the_last_factor_goes(ada):
    from allauth.mfa.models import Authenticator

    Authenticator.objects.create(user=ada, type="totp", data={})
    client = Client()
    client.force_login(ada)
    change(client, "a long enough password", new="8 signs.")
    confirm = client.get("/account/factors/app/off")
    if confirm.status_code == 302:
        client.post(confirm["Location"], {"password": "8 signs."})
    assert client.post("/account/factors/app/off").status_code == 302
    assert not Authenticator.objects.exists()
    assert is_led_to_change(client)


def test_the_first_administrator_changes_the_printed_password(capsys, monkeypatch, settings):
    from hub.server import serve

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    serve._make_admin()
    secret = re.search(r"admin password: (\S+)", capsys.readouterr().out)[1]
    admin = User.objects.get()
    assert admin.check_password(secret)
    assert admin.must_change_password


def test_where_no_one_watches_the_first_password_is_in_a_file(capsys, settings, tmp_path):
    from hub.server import serve

    settings.HUB_HOME = tmp_path
    serve._make_admin()
    printed = capsys.readouterr().out
    file = tmp_path / "admin-password"
    assert str(file) in printed
    assert file.stat().st_mode & 0o777 == 0o600
    secret = file.read_text().strip()
    assert secret not in printed
    assert User.objects.get().check_password(secret)
