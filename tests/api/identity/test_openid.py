"""Sign-in with an OpenID provider: a real one on this machine, by authorization code and PKCE."""

from __future__ import annotations

import warnings
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client

from hub.server.settings.identity import GroupRole
from registry.core import usage
from registry.identity.models import SecurityEvent
from registry.models import Event, Membership, Namespace, User
from registry.people.services import namespaces
from tests import factories

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import oidc_provider_mock

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("identity"),
    # The provider's own libraries announce changes of theirs.
    pytest.mark.filterwarnings("ignore"),
]
GRACE = {"email": "grace@example.org", "email_verified": True, "preferred_username": "grace"}


@pytest.fixture
def provider(settings):
    with oidc_provider_mock.run_server_in_thread() as server:
        settings.HUB_OIDC_ISSUER = f"http://localhost:{server.server_port}"
        settings.HUB_OIDC_CLIENT_ID, settings.HUB_OIDC_CLIENT_SECRET = "hub", "secret"
        yield settings.HUB_OIDC_ISSUER


def sign_in(provider, client, sub="grace", process="", **claims):
    """Follow the way of a browser; gives the answer of the hub."""
    requests.put(f"{provider}/users/{sub}", json=claims, timeout=5).raise_for_status()
    begun = client.post(f"/login/with/oidc{process}")
    assert begun.status_code == 302, begun.content
    assert "code_challenge=" in begun["Location"]
    answer = requests.post(begun["Location"], data={"sub": sub}, allow_redirects=False, timeout=5)
    back = urlsplit(answer.headers["Location"])
    assert back.path == "/login/with/oidc/callback"
    return client.get(f"{back.path}?{back.query}")


def whoami(client):
    return client.get("/api/v1/whoami").json().get("username")


def test_without_a_provider_there_is_no_such_sign_in(client):
    assert client.post("/login/with/oidc").status_code == 404
    assert "/login/with/oidc" not in client.get("/login").content.decode()


def test_a_first_sign_in_makes_an_account(provider, client):
    assert "/login/with/oidc" in client.get("/login").content.decode()
    assert sign_in(provider, client, **GRACE).status_code == 302
    assert whoami(client) == "grace"
    user = User.objects.get(username="grace")
    assert not user.has_usable_password()
    assert user.emailaddress_set.get().verified
    assert Namespace.objects.filter(slug="grace").exists()
    assert Event.objects.filter(verb="user.created", subject_id=user.pk).exists()
    again = Client()
    sign_in(provider, again, **GRACE)
    assert whoami(again) == "grace"
    usage.notes.flush()
    assert SecurityEvent.objects.filter(kind="sign_in", actor=user).count() == 2
    assert User.objects.filter(username__startswith="grace").count() == 1


def test_a_name_that_is_taken_is_nobodys_way_in(provider, client, ada):
    sign_in(provider, client, sub="mallory", preferred_username="ada")
    assert whoami(client) == "ada-2"


def test_an_address_of_an_account_is_no_way_in(provider, client, ada):
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    claims = {"email": "ada@example.org", "email_verified": True}
    refused = sign_in(provider, client, sub="mallory", **claims)
    assert refused.status_code == 409
    assert whoami(client) is None
    assert User.objects.count() == 1


def test_an_account_is_connected_by_its_owner_alone(provider, ada):
    owner = Client()
    owner.post("/login", {"username": "ada", "password": "a long enough password"})
    asked = sign_in(provider, owner, process="?process=connect", sub="a1", **GRACE)
    assert asked.url.startswith("/account/confirm")
    assert owner.post(asked.url, {"password": "a long enough password"}).status_code == 302
    browser = Client()
    sign_in(provider, browser, sub="a1", **GRACE)
    assert whoami(browser) == "ada"


def test_a_browser_signs_in_again_and_again(provider, client):
    """The provider takes each nonce once."""
    for _ in range(2):
        sign_in(provider, client, **GRACE)
        assert whoami(client) == "grace"
        # Without signing out: another sign-in begins in the same session.
        assert sign_in(provider, client, **GRACE).status_code == 302
        client.post("/logout")


def test_connecting_is_offered_to_who_can_confirm_it(provider, client, ada):
    """An account that the provider made has no password to type once more."""
    sign_in(provider, client, **GRACE)
    assert "process=connect" not in client.get("/account").content.decode()
    browser = Client()
    browser.force_login(ada)
    assert "process=connect" in browser.get("/account").content.decode()


def test_an_address_that_the_provider_has_not_confirmed_is_not_kept(provider, client):
    sign_in(provider, client, **GRACE | {"email_verified": False})
    assert User.objects.get(username="grace").email == ""


def test_accounts_may_be_closed_to_strangers(provider, client, settings):
    settings.HUB_OIDC_ACCOUNTS = False
    assert "You have no account here" in sign_in(provider, client, **GRACE).content.decode()
    assert User.objects.count() == 0


def test_a_closed_account_stays_closed(provider, client):
    sign_in(provider, client, **GRACE)
    User.objects.update(is_active=False)
    browser = Client()
    sign_in(provider, browser, **GRACE)
    assert whoami(browser) is None


def test_groups_give_and_take_roles(provider, client, settings, ada):
    lab = namespaces.create(ada, slug="lab")
    settings.HUB_OIDC_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "lab", "maintainer"),
        GroupRole("staff", "missing", "owner"),
    ]
    roles = []
    for groups in (["staff", "chemists"], ["staff"], []):
        sign_in(provider, Client(), **GRACE, groups=groups)
        roles.append(
            Membership.objects.filter(namespace=lab, user__username="grace")
            .values_list("role", flat=True)
            .first()
        )
    assert roles == ["maintainer", "reader", None]
    assert Membership.objects.get(namespace=lab).user == ada


def test_administrators_see_which_groups_have_roles(client, settings, admin, lists):
    namespaces.create(admin, slug="lab")
    settings.HUB_OIDC_NAME = "Example"
    settings.HUB_OIDC_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "missing", "owner"),
    ]
    client.force_login(admin)
    page = client.get("/administration").content.decode()
    assert all(words in page for words in ("staff", "chemists", "reader", "Example"))
    assert page.count("no such organisation") == 1
    settings.HUB_OIDC_GROUPS = []
    assert 'id="groups"' not in client.get("/administration").content.decode()


def test_a_group_does_not_take_the_last_owner(provider, client, settings):
    sign_in(provider, client, **GRACE)
    lab = namespaces.create(User.objects.get(username="grace"), slug="lab")
    settings.HUB_OIDC_GROUPS = [GroupRole("chemists", "lab", "writer")]
    sign_in(provider, Client(), **GRACE, groups=[])
    assert Membership.objects.get(namespace=lab).role == "owner"


def test_a_callback_that_was_not_begun_here_is_refused(provider, client):
    factories.somebody("ada")
    answer = client.get("/login/with/oidc/callback?code=x&state=y")
    assert answer.status_code == 401
    assert "Not signed in" in answer.content.decode()
