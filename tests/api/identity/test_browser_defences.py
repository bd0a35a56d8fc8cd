"""Cookies, forms, headers and passwords, as OWASP ASVS 5.0 asks for them (tests/asvs.toml)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from registry.core import usage
from registry.identity.models import SecurityEvent
from registry.models import Invitation, User
from tests import factories, mail

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PASSWORD = "a long enough password"


def sign_in(client, password=PASSWORD, name="ada"):
    return client.post("/login", {"username": name, "password": password})


def is_in(client):
    return client.get("/account").status_code == 200


def new_password(client, old, new):
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/account/password", form).status_code


def test_cookies_stay_away_from_scripts_and_other_sites(ada, client):
    client.get("/login")
    sign_in(client)
    session, token = client.cookies["sessionid"], client.cookies["csrftoken"]
    assert session["httponly"]
    assert (session["samesite"], token["samesite"]) == ("Lax", "Lax")
    assert (session["domain"], token["domain"]) == ("", "")


def test_cookies_of_a_hub_behind_https_belong_to_its_host_alone():
    code = (
        "from django.conf import settings as s; "
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, "
        "s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_PATH, s.SESSION_COOKIE_DOMAIN)"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "hub.server.settings",
        "HUB_PUBLIC_URL": "https://hub.example.org",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    words = "__Host-sessionid __Host-csrftoken True True / None"
    assert done.stdout.strip() == words


def test_sign_in_begins_a_new_session_of_enough_randomness(ada):
    keys = set()
    for _ in range(3):
        client = Client()
        session = client.session
        session["basket"] = "of a guest"
        session.save()
        before = client.session.session_key
        client.cookies["sessionid"] = before
        sign_in(client)
        after = client.session.session_key
        assert before != after
        # 32 of 36 characters: 165 bits.
        assert re.fullmatch(r"[0-9a-z]{32}", after)
        keys.add(after)
    assert len(keys) == 3


def test_signing_out_has_the_browser_forget_its_pages(ada, client):
    sign_in(client)
    assert client.post("/logout")["Clear-Site-Data"] == '"cache"'


def test_sign_out_is_on_every_page(ada, client, lists, graphs):
    factories.published(ada)
    sign_in(client)
    for path in ("/", "/models", "/ada/net", "/models/ada/net", "/account", "/docs", "/benchmarks"):
        page = client.get(path, follow=True, headers={"Accept": "text/html"})
        assert 'action="/logout"' in page.content.decode(), path


def test_a_password_is_taken_as_it_was_typed(ada, client):
    sign_in(client)
    password = "  Ein PASSWORT mit \t Ünïcode und 🔐  "
    assert new_password(client, PASSWORD, password) == 302
    for wrong in (password.strip(), password.lower(), password.replace("Ü", "U"), password[:-1]):
        assert sign_in(Client(), wrong).status_code != 302
    assert sign_in(Client(), password).status_code == 302


def test_a_password_of_a_thousand_characters_is_compared_whole(ada, client):
    sign_in(client)
    password = "correct horse " * 71
    assert new_password(client, PASSWORD, password) == 302
    assert sign_in(Client(), password[:72]).status_code != 302
    assert sign_in(Client(), password).status_code == 302


def test_fields_of_passwords_are_masked_and_open_to_password_managers(ada, client):
    pages = ["/login"]
    sign_in(client)
    texts = [Client().get(path).content.decode() for path in pages]
    texts += [
        client.get(path).content.decode() for path in ("/account/password", "/account/confirm")
    ]
    for text in texts:
        fields = re.findall(r"<input[^>]+name=\"[^\"]*password[^\"]*\"[^>]*>", text)
        assert fields
        for field in fields:
            assert 'type="password"' in field
            assert re.search(r'autocomplete="(current|new)-password"', field), field
            assert "onpaste" not in field


def test_a_reset_password_still_needs_the_second_factor(ada, client, settings):
    TOTP.activate(ada, generate_totp_secret())
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    with mail.server(settings) as inbox:
        client.post("/login/reset", {"email": "ada@example.org"})
        begun = client.get(inbox.link())
        form = {"password1": "another long password", "password2": "another long password"}
        assert client.post(begun.url, form).status_code == 302
    assert not is_in(client)
    browser = Client()
    answer = sign_in(browser, "another long password")
    assert answer.url.startswith("/login/code")
    assert not is_in(browser)


def test_recovery_codes_are_random_and_long_enough(ada):
    codes = RecoveryCodes.activate(ada).get_unused_codes()
    assert len(set(codes)) == len(codes) == 10
    # Eight digits: 26 bits.
    assert all(re.fullmatch(r"[0-9]{8}", code) for code in codes)


def test_mails_have_no_headers_of_their_reader(client, settings, admin):
    settings.HUB_SIGN_UP = "open"
    client.force_login(admin)
    with mail.server(settings) as inbox:
        text = "a@example.org\r\nBcc: b@example.org"
        assert Client().post("/account/new", {"email": text}).status_code == 422
        form = {"emails": text, "role": "reader"}
        assert client.post("/administration/invitations", form).status_code == 422
        assert inbox.mails == []
    assert Invitation.objects.count() == 0


def test_lines_of_the_log_cannot_be_forged(ada, bob, caplog, capfd):
    caplog.set_level("INFO")
    client = Client(headers={"User-Agent": 'x\r\n{"event": "forged"}'})
    client.force_login(bob)
    assert client.get("/administration?before=1").status_code in (400, 403)
    # Not an address of a page: the path of a refused request is what a stranger writes.
    assert client.delete('/api/v1/models/ada/net%0a{"event": "forged"}').status_code in (403, 404)
    sign_in(Client(), name='ada\n{"event": "forged"}')
    lines = capfd.readouterr().err.splitlines()
    assert lines
    assert all(json.loads(line)["event"] != "forged" for line in lines)


def test_pages_of_a_user_are_for_no_other_origin(ada, client, lists):
    sign_in(client)
    for path in ("/account", "/api/v1/whoami", "/api/v1/tokens", "/account/sessions", "/"):
        answer = client.get(path, headers={"Origin": "https://evil.example"})
        assert "Access-Control-Allow-Credentials" not in answer, path
        assert answer.get("Access-Control-Allow-Origin", "*") == "*", path
        if "Access-Control-Allow-Origin" in answer:  # what guests may read as well
            assert path == "/"


def test_no_page_can_be_framed(ada, client, lists):
    sign_in(client)
    for path in ("/", "/login", "/account", "/models"):
        policy = client.get(path)["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy, path


def test_unusual_requests_reach_nothing(client):
    assert client.generic("TRACE", "/").status_code == 405
    for path in ("/static/", "/docs/", "/api/", "/.git/config", "/api/v1/"):
        assert client.get(path).status_code == 404, path


@pytest.mark.parametrize("path", ["%252e%252e/secret", "..%2f..%2fsecret", "%2e%2e/secret"])
def test_paths_are_decoded_once(ada, api, path):
    factories.published(ada)
    answer = api(ada).get(f"/api/v1/models/ada/net/versions/1/files/{path}")
    assert answer.status_code in (400, 404)
    usage.notes.flush()
    assert not SecurityEvent.objects.filter(kind="download").exists()
