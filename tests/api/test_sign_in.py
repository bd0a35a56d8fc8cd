"""Signing in on the page: slowed for guessers, and a password can be changed."""

from __future__ import annotations

import pytest

from tests import factories

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


def sign_in(client, password=PASSWORD, name="ada"):
    return client.post("/login", {"username": name, "password": password})


def test_guessing_is_slowed_by_name_and_address(client, ada):
    for _ in range(10):
        assert "No account has this name" in sign_in(client, "wrong").content.decode()
    refused = sign_in(client)
    assert "Too many tries" in refused.content.decode()
    assert "_auth_user_id" not in client.session
    factories.user("carol")
    assert sign_in(client, name="carol").status_code == 302


def test_a_password_is_changed(client, ada):
    sign_in(client)
    page = client.get("/account/password")
    assert page.status_code == 200
    new = "another long password"
    fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    wrong = client.post("/account/password", fields | {"old_password": "x"})
    assert wrong.status_code == 200
    assert "entered incorrectly" in wrong.content.decode()
    done = client.post("/account/password", fields, follow=True)
    assert "Your password is changed" in done.content.decode()
    client.post("/logout")
    assert sign_in(client, new).status_code == 302
    assert client.session["_auth_user_id"] == str(ada.pk)
