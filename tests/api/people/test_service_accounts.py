"""Service accounts: what they can do, who manages them, and that they outlast their maker."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from registry.models import AccessToken, Event, Membership, Namespace, User
from registry.people.services import namespaces, service_accounts, users
from tests import factories
from tests.api.people.test_limited_tokens import with_token
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lists")]
PLACE = "namespaces/lab/service-accounts"


@pytest.fixture
def lab(ada):
    return factories.namespace(ada, "lab")


@pytest.fixture
def account(ada, lab):
    return service_accounts.create(ada, namespace=lab, name="ci", role="maintainer")


def secret(api, owner, **fields):
    asked = {"name": "nightly", "scopes": ["write"]} | fields
    made = api(owner).post(f"{PLACE}/ci/tokens", asked)
    assert made.status_code == 201, made.content
    return made.json()["token"]


def test_an_owner_makes_one_and_its_token_works(api, ada, lab):
    made = api(ada).post(PLACE, {"name": "ci", "role": "writer"})
    assert made.status_code == 201
    assert made.json()["username"] == "lab+ci"
    assert api(ada).get(PLACE).json() == [made.json()]
    factories.model(ada, "net", slug="lab", visibility="private")
    client = with_token(api, secret(api, ada))
    assert client.get("whoami").json()["username"] == "lab+ci"
    assert client.post("models/lab/net/versions", {}).status_code == 201
    assert Event.objects.filter(actor__username="lab+ci", verb="version.drafted").exists()
    problem(client.post("namespaces", {"slug": "mine"}), 403, "not-allowed")


def test_it_outlives_the_user_who_made_it(api, ada, bob, admin, account, lab):
    namespaces.set_member(ada, namespace=lab, user=bob, role="owner")
    client = with_token(api, secret(api, ada))
    namespaces.set_member(bob, namespace=lab, user=ada, role=None)
    users.set_active(admin, user=ada, active=False, ends_dependents=True)
    assert client.get("whoami").json()["namespaces"] == [{"slug": "lab", "role": "maintainer"}]


@pytest.mark.parametrize("role", ["reader", "writer", "maintainer", None])
def test_owners_alone_manage_them(api, ada, bob, account, lab, role):
    if role:
        Membership.objects.create(namespace=lab, user=bob, role=role)
    status, word = (403, "not-allowed") if role else (404, "not-found")
    token = secret(api, ada)
    key = AccessToken.objects.get(user=account).pk
    asked = {"name": "t", "scopes": ["read"]}
    for method, path, body in (
        ("POST", PLACE, {"name": "more"}),
        ("PATCH", f"{PLACE}/ci", {"role": "reader"}),
        ("DELETE", f"{PLACE}/ci", None),
        ("GET", f"{PLACE}/ci/tokens", None),
        ("POST", f"{PLACE}/ci/tokens", asked),
        ("DELETE", f"{PLACE}/ci/tokens/{key}", None),
    ):
        problem(api(bob)(method, path, body), status, word)
    problem(with_token(api, token).post(f"{PLACE}/ci/tokens", asked), 403, "not-allowed")
    assert User.objects.filter(service_of=lab, is_active=True).count() == 1
    assert AccessToken.objects.filter(user=account).count() == 1


def test_a_closed_one_stops_at_once(api, ada, account):
    client = with_token(api, secret(api, ada))
    assert api(ada).delete(f"{PLACE}/ci").status_code == 204
    assert client.get("whoami").status_code == 401
    assert api(ada).get(PLACE).json() == []
    problem(api(ada).post(PLACE, {"name": "CI"}), 409, "name-taken")


def test_its_tokens_keep_to_the_organisation(api, ada, account, lab):
    factories.model(ada, "own", visibility="private")
    problem(
        api(ada).post(
            f"{PLACE}/ci/tokens", {"name": "t", "scopes": ["read"], "models": ["ada/own"]}
        ),
        404,
        "not-found",
    )
    client = with_token(api, secret(api, ada))
    problem(client.get("models/ada/own"), 404, "not-found")


def test_it_has_no_password_and_no_other_role(api, ada, admin, account, lab):
    problem(api(admin).post("users/lab+ci/password"), 409, "state-conflict")
    own = Namespace.objects.get(slug="ada")
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(namespace=own, user=account, role="reader")
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(user=account).update(role="owner")
    account.set_password("a long enough password")
    with pytest.raises(IntegrityError), transaction.atomic():
        account.save()
    problem(
        api(ada).put("namespaces/ada/members/lab+ci", {"role": "reader"}), 409, "state-conflict"
    )
    problem(api(ada).post(PLACE, {"name": "x", "role": "owner"}), 400, "invalid-request")
    problem(api(ada).post("namespaces/ada/service-accounts", {"name": "x"}), 409, "state-conflict")


def test_the_pages(api, ada, bob, client, lab):
    client.force_login(ada)
    place = "/account/namespaces/lab/service-accounts"
    made = client.post(place, {"name": "ci", "role": "writer"})
    assert made.headers["Location"] == f"{place}/lab+ci"
    fields = {"name": "nightly", "scopes": ["write"], "limits": "", "expires_days": 30}
    assert b"Copy the token now" in client.post(f"{place}/lab+ci", fields).content
    token = AccessToken.objects.get(name="nightly")
    assert b"lab+ci" in client.get(place).content
    assert client.post(f"{place}/lab+ci", {"role": "reader"}).status_code == 302
    revoke = f"{place}/lab+ci/tokens/{token.pk}/revoke"
    assert b"Revoke nightly?" in client.get(revoke).content
    assert client.post(revoke).status_code == 302
    assert not AccessToken.objects.filter(pk=token.pk).exists()
    client.force_login(bob)
    assert client.get(place).status_code == 404
    client.force_login(ada)
    assert client.post(f"{place}/lab+ci/close").status_code == 302
    assert client.get(f"{place}/lab+ci").status_code == 404
