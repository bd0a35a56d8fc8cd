"""Closing an account: what acts for it is named, and handed over or ended as is asked."""

from __future__ import annotations

import pytest
from django.test import Client

from registry.federated.models import Training
from registry.mirrors.services import mirrors
from registry.models import AccessToken, Event, Mirror
from registry.people.services import namespaces
from tests import factories, learning
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db
SOURCE = "https://hub.example.org"


@pytest.fixture
def lab(ada, bob):
    """A namespace of ada's, in which bob is a maintainer."""
    space = factories.namespace(ada)
    namespaces.set_member(ada, namespace=space, user=bob, role="maintainer")
    return space


@pytest.fixture
def secret(lab, ada):
    """A token of ada's for a build server of the lab."""
    return factories.token(ada, ["read", "write"], lab)


def whoami(api, secret):
    client = api()
    client.headers["Authorization"] = f"Bearer {secret}"
    return client.get("whoami")


def close(api, admin, **options):
    return api(admin).patch("users/ada", {"is_active": False} | options)


def test_an_account_for_which_something_acts_is_not_closed_without_a_word(api, ada, admin, secret):
    answer = close(api, admin)
    problem(answer, 409, "state-conflict")
    token = AccessToken.objects.get(user=ada)
    assert f"token {token}" in answer.json()["detail"]
    assert "ends_dependents" in answer.json()["detail"]
    assert whoami(api, secret).status_code == 200
    listed = api(admin).get("users/ada/dependents").json()
    assert listed == [
        {"kind": "token", "name": str(token), "namespace": "lab", "is_transferable": True}
    ]
    problem(api(ada).get("users/ada/dependents"), 403, "not-allowed")


def test_a_service_token_goes_on_for_the_heir(api, ada, bob, admin, secret):
    personal = factories.token(ada, ["read"])
    assert close(api, admin, heir="bob").json()["is_active"] is False
    assert whoami(api, secret).json()["username"] == "bob"
    assert AccessToken.objects.get(namespace__slug="lab").scopes == ["read", "write"]
    problem(whoami(api, personal), 401, "not-authenticated")
    assert Event.objects.get(verb="user.closed").data["heir"] == "bob"


def test_a_token_gains_nothing_from_the_role_of_its_heir(api, ada, bob, admin, lab):
    namespaces.set_member(ada, namespace=lab, user=bob, role="owner")
    namespaces.set_member(ada, namespace=lab, user=ada, role="writer")
    factories.token(ada, ["write", "publish", "admin"], lab)
    assert close(api, admin, heir="bob").status_code == 200
    assert AccessToken.objects.get(namespace=lab).scopes == ["write"]


def test_consent_ends_what_acts_for_it(api, ada, admin, secret):
    assert close(api, admin, ends_dependents=True).status_code == 200
    problem(whoami(api, secret), 401, "not-authenticated")
    assert AccessToken.objects.get(namespace__slug="lab").user == ada


@pytest.mark.parametrize("heir", ["ada", "carol", "nemo"])
def test_an_heir_must_be_another_account_that_may(api, ada, admin, secret, heir):
    factories.somebody("carol")
    answer = close(api, admin, heir=heir)
    assert answer.status_code == (404 if heir == "nemo" else 409)
    ada.refresh_from_db()
    assert ada.is_active
    assert AccessToken.objects.get(namespace__slug="lab").user == ada


@pytest.mark.capability("mirrors")
@pytest.mark.capability("federated")
def test_mirrors_and_trainings_are_handed_over_together_or_not_at_all(
    api, ada, bob, admin, lab, settings
):
    settings.HUB_MIRROR_SOURCES = [SOURCE]
    mirror = mirrors.add(ada, source=f"{SOURCE}/zoo", namespace=lab)
    training = learning.training(ada, factories.version(ada, factories.model(ada, slug="lab")))
    kinds = {row["kind"] for row in api(admin).get("users/ada/dependents").json()}
    assert kinds == {"mirror", "training"}
    answer = close(api, admin, heir="bob")  # who may manage trainings, but not edit mirrors
    problem(answer, 409, "state-conflict")
    assert f"mirror {mirror.pk}" in answer.json()["detail"]
    assert "role owner in lab" in answer.json()["detail"]
    assert Training.objects.get().created_by == ada
    namespaces.set_member(ada, namespace=lab, user=bob, role="owner")
    assert close(api, admin, heir="bob").status_code == 200
    assert Training.objects.get(pk=training.pk).created_by == bob
    assert Mirror.objects.get().created_by == bob


def test_the_page_asks_for_an_heir(ada, bob, admin, secret):
    browser = Client()
    browser.force_login(admin)
    page = browser.get("/administration/accounts/ada/close").content.decode()
    assert str(AccessToken.objects.get(user=ada)) in page.replace("&#x27;", "'")
    assert 'name="heir"' in page
    answer = browser.post("/administration/accounts/ada/close", {}, follow=True)
    assert "Name an heir" in answer.content.decode()
    browser.post("/administration/accounts/ada/close", {"heir": "bob"})
    ada.refresh_from_db()
    assert not ada.is_active
    assert AccessToken.objects.get(namespace__slug="lab").user == bob
