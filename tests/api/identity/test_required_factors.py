"""HUB_SECOND_FACTOR_ROLES: who has such a role sets a second factor up before anything else."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from registry.people.services import namespaces
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PASSWORD = "a long enough password"


def signed_in(user):
    client = Client()
    form = {"username": user.username, "password": PASSWORD}
    assert client.post("/login", form).status_code == 302
    return client


def is_led(client):
    answer = client.get("/account/tokens")
    return answer.status_code == 302 and answer["Location"] == "/account/factors"


def test_no_one_needs_a_factor_by_default(admin):
    assert not is_led(signed_in(admin))


def test_an_administrator_sets_a_factor_up_first(admin, ada, settings, api):
    settings.HUB_SECOND_FACTOR_ROLES = ["administrator"]
    client = signed_in(admin)
    assert is_led(client)
    assert not is_led(signed_in(ada))
    problem(client.get("/api/v1/whoami"), 403, "not-allowed")
    assert "requires a second factor" in client.get("/account/factors").content.decode()
    app = "/account/factors/app"
    confirm = client.get(app)["Location"]
    assert confirm.startswith("/account/confirm")
    assert client.post(confirm, {"password": PASSWORD}).status_code == 302
    assert client.get(app).status_code == 200
    # A token does not depend on how its user signs in.
    assert api(admin).get("whoami").status_code == 200
    Authenticator.objects.create(user=admin, type="totp", data={})
    assert not is_led(client)
    assert client.get("/api/v1/whoami").status_code == 200


def test_roles_count_in_organisations_alone(admin, ada, settings):
    settings.HUB_SECOND_FACTOR_ROLES = ["owner", "maintainer"]
    space = factories.namespace(admin)
    client = signed_in(ada)
    assert not is_led(client)  # everybody owns the namespace of their name
    namespaces.set_member(admin, namespace=space, user=ada, role="writer")
    assert not is_led(client)
    namespaces.set_member(admin, namespace=space, user=ada, role="maintainer")
    assert is_led(client)
    assert client.get("/account/password").status_code == 200


def test_an_account_without_a_password_has_the_factors_of_its_provider(admin, settings):
    settings.HUB_SECOND_FACTOR_ROLES = ["administrator"]
    admin.set_unusable_password()
    admin.save()
    client = Client()
    client.force_login(admin)
    assert not is_led(client)


def test_a_password_to_change_comes_first(admin, settings):
    settings.HUB_SECOND_FACTOR_ROLES = ["administrator"]
    client = signed_in(admin)
    type(admin).objects.update(must_change_password=True)
    assert client.get("/account/factors")["Location"] == "/account/password"
