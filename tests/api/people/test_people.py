"""Namespaces, members and accounts over HTTP: who may see and change what."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate

from registry.models import Event, Membership, Namespace, User
from tests import factories, samples
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db


def test_an_owner_gives_and_takes_roles(api, ada, bob):
    factories.namespace(ada, "lab")
    client = api(ada)
    assert client.put("namespaces/lab/members/bob", {"role": "writer"}).json() == {
        "username": "bob",
        "role": "writer",
    }
    assert api(bob).get("namespaces/lab/members").json() == [
        {"username": "ada", "role": "owner"},
        {"username": "bob", "role": "writer"},
    ]
    assert {"slug": "lab", "role": "writer"} in api(bob).get("namespaces").json()
    problem(api(bob).put("namespaces/lab/members/bob", {"role": "owner"}), 403, "not-allowed")
    assert client.delete("namespaces/lab/members/bob").status_code == 204
    problem(api(bob).get("namespaces/lab"), 404, "not-found")
    assert Event.objects.filter(verb="member.changed").count() == 2


def test_the_last_owner_stays(api, ada):
    factories.namespace(ada, "lab")
    problem(api(ada).delete("namespaces/lab/members/ada"), 409, "state-conflict")
    problem(api(ada).put("namespaces/lab/members/ada", {"role": "reader"}), 409, "state-conflict")
    assert Membership.objects.get(namespace__slug="lab").role == "owner"


def test_a_namespace_is_not_there_for_strangers(api, ada, bob):
    factories.namespace(ada, "lab")
    for path in ("namespaces/lab", "namespaces/lab/members"):
        hidden, missing = api(bob).get(path), api(bob).get(path.replace("lab", "none"))
        problem(hidden, 404, "not-found")
        assert hidden.json()["detail"].replace("lab", "none") == missing.json()["detail"]
        problem(api().get(path), 404, "not-found")


def test_nobody_is_made_a_member_who_is_not_there(api, ada):
    factories.namespace(ada, "lab")
    problem(api(ada).put("namespaces/lab/members/eve", {"role": "reader"}), 404, "not-found")
    problem(api(ada).put("namespaces/lab/members/ada", {"role": "king"}), 400, "invalid-request")


def test_quotas_are_the_administrators(api, ada, admin):
    factories.published(ada)
    problem(api(ada).patch("namespaces/ada", {"quota_bytes": 10}), 403, "not-allowed")
    told = api(ada).patch("namespaces/ada", {"display_name": "Ada's"}).json()
    assert (told["display_name"], told["used_bytes"] >= len(samples.mlp())) == ("Ada's", True)
    assert api(admin).patch("namespaces/ada", {"quota_bytes": 10}).json()["most_bytes"] == 10
    problem(api(admin).patch("namespaces/ada", {"quota_bytes": -1}), 400, "invalid-request")
    preset = api(admin).patch("namespaces/ada", {"quota_bytes": None}).json()["most_bytes"]
    assert preset > 10
    assert Namespace.objects.get(slug="ada").quota_bytes is None


def test_an_administrator_adds_people(api, ada, admin):
    for client in (api(ada), api(admin, ["write"])):
        problem(client.post("users", {"username": "eve"}), 403, "not-allowed")
        problem(client.get("users"), 403, "not-allowed")
    problem(api().get("users"), 401, "not-authenticated")
    made = api(admin).post("users", {"username": "eve", "email": "eve@example.org"})
    assert made.status_code == 201
    eve = authenticate(username="eve", password=made.json()["password"])
    assert eve is not None
    assert made.json()["password"] not in str(list(Event.objects.values()))
    assert Membership.objects.get(user=eve).namespace.slug == "eve"
    problem(api(admin).post("users", {"username": "Eve"}), 409, "name-taken")
    problem(api(admin).post("users", {"username": "models"}), 422, "name-reserved")
    assert User.objects.filter(username__iexact="eve").count() == 1
    users = api(admin).get("users").json()["items"]
    assert users[0]["username"] == "eve"
    assert not {"password", "token"} & set(users[0])


def test_a_closed_account_signs_in_nowhere(api, ada, admin):
    theirs = api(ada)
    assert theirs.get("whoami").status_code == 200
    problem(api(ada).patch("users/ada", {"is_active": False}), 403, "not-allowed")
    closing = {"is_active": False, "ends_dependents": True}
    assert api(admin).patch("users/ada", closing).json()["is_active"] is False
    problem(theirs.get("whoami"), 401, "not-authenticated")
    assert api(admin).patch("users/ada", {"is_active": True}).json()["is_active"] is True
    assert theirs.get("whoami").status_code == 200


def test_the_last_administrator_stays(api, admin):
    name = admin.username
    problem(api(admin).patch(f"users/{name}", {"is_active": False}), 409, "state-conflict")


def test_a_new_password_replaces_the_old_one(api, ada, admin):
    ada.set_password("the old password")
    ada.save()
    made = api(admin).post("users/ada/password").json()
    assert authenticate(username="ada", password="the old password") is None
    assert authenticate(username="ada", password=made["password"]) == ada
    problem(api(ada).post("users/ada/password"), 403, "not-allowed")
