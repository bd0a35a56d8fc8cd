"""Who a request comes from: tokens, scopes, expiry, and their secrets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.models import AccessToken, Event, Membership, Namespace
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = pytest.mark.django_db


def test_whoami(api, ada):
    factories.namespace(ada, "lab")
    told = api(ada, ["write"]).get("whoami").json()
    assert told == {
        "username": "ada",
        "namespaces": [{"slug": "ada", "role": "owner"}, {"slug": "lab", "role": "owner"}],
        "scopes": ["write"],
    }
    guest = api().get("whoami")
    problem(guest, 401, "not-authenticated")
    assert guest["WWW-Authenticate"] == 'Bearer realm="hub"'


def test_a_token_is_shown_once_and_only_its_digest_is_kept(api, ada):
    client = api(ada)
    made = client.post("tokens", {"name": "ci", "scopes": ["write"], "expires_days": 7}).json()
    secret = made["token"]
    assert secret.startswith("hf_")
    row = AccessToken.objects.get(name="ci")
    assert secret not in str(row.__dict__)
    assert secret not in str(list(Event.objects.values()))
    tokens = client.get("tokens").json()["items"]
    assert {token["name"] for token in tokens} == {"ci", "test"}
    assert all("token" not in token for token in tokens)
    assert timezone.now() + timedelta(days=6) < row.expires_at < timezone.now() + timedelta(days=8)


def test_a_revoked_token_stops_at_once(api, ada, bob):
    client = api(ada)
    made = client.post("tokens", {"name": "ci", "scopes": ["read"]}).json()
    other = {"Authorization": f"Bearer {made['token']}"}
    guest = api()
    assert guest.get("whoami", **other).status_code == 200
    problem(api(bob).delete(f"tokens/{made['id']}"), 404, "not-found")
    assert client.delete(f"tokens/{made['id']}").status_code == 204
    problem(guest.get("whoami", **other), 401, "not-authenticated")


@pytest.mark.parametrize("change", ["expired", "inactive", "wrong"])
def test_tokens_that_do_not_count(api, ada, change):
    client = api(ada)
    if change == "expired":
        AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif change == "inactive":
        type(ada).objects.update(is_active=False)
    else:
        client.headers["Authorization"] += "x"
    problem(client.get("models"), 401, "not-authenticated")


def test_a_token_cannot_make_tokens_unless_it_may(api, ada):
    problem(
        api(ada, ["publish"]).post("tokens", {"name": "x", "scopes": ["read"]}), 403, "not-allowed"
    )
    assert AccessToken.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["everything"]},
        {"name": " ", "scopes": ["read"]},
        {"name": "x", "scopes": ["read"], "expires_days": 0},
        {"name": "x", "scopes": ["read"], "expires_days": 10_000},
    ],
)
def test_tokens_that_cannot_be(api, ada, body):
    problem(api(ada).post("tokens", body), 400, "invalid-request")


@pytest.mark.usefixtures("lists")
def test_a_role_that_is_lost_is_lost_at_once(api, ada, bob):
    from registry.people.services import namespaces

    lab = factories.namespace(ada, "lab")
    namespaces.set_member(ada, namespace=lab, user=bob, role="writer")
    client = api(bob)
    assert client.post("models", {"namespace": "lab", "name": "net"}).status_code == 201
    namespaces.set_member(ada, namespace=lab, user=bob, role=None)
    problem(client.post("models/lab/net/versions", {}), 404, "not-found")


def test_the_last_owner_cannot_leave(ada):
    from hub.protocol import problems
    from registry.people.services import namespaces

    space = Namespace.objects.get(slug="ada")
    for role in (None, "reader"):
        with pytest.raises(problems.StateConflict):
            namespaces.set_member(ada, namespace=space, user=ada, role=role)
    assert Membership.objects.get(namespace=space).role == "owner"


@pytest.mark.parametrize("slug", ["api", "Login", "ada", "ADA", "a/b", "-x"])
def test_namespaces_that_cannot_be(api, ada, slug):
    answer = api(ada).post("namespaces", {"slug": slug})
    assert answer.status_code in (409, 422), answer.content
    assert Namespace.objects.count() == 1


@pytest.mark.usefixtures("lists")
def test_rates_are_limited_and_say_when_to_go_on(api, ada, settings):
    from rest_framework.throttling import SimpleRateThrottle

    rates = dict(SimpleRateThrottle.THROTTLE_RATES)
    SimpleRateThrottle.THROTTLE_RATES["anon"] = "2/min"
    try:
        answers = [api().get("models") for _ in range(3)]
    finally:
        SimpleRateThrottle.THROTTLE_RATES.update(rates)
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    problem(answers[2], 429, "throttled")
    assert 1 <= int(answers[2]["Retry-After"]) <= 121  # the window slides over two minutes
