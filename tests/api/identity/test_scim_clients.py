"""SCIM as other people's software sees it: scim2-tester, the library's rules, and OpenID."""

from __future__ import annotations

import re

import pytest
import scim2_tester
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_server.testing import ScimStorageContract
from scim2_tester import Status

from hub.server.settings.identity import GroupRole
from registry.identity.api.scim.resources import PROVIDER
from registry.identity.api.scim.storage import Storage
from registry.identity.models import ScimClient
from registry.identity.scim import clients
from registry.models import User
from registry.people.services import namespaces
from tests.api.identity.test_openid import provider as openid  # noqa: F401
from tests.api.identity.test_openid import sign_in, whoami
from tests.api.identity.test_scim import Provider, roles_in

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("identity"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def secret(admin):
    return clients.create_token(admin, name="entra")[1]


@pytest.fixture
def application():
    """The hub without its own test client; requests leave the connection of the test open."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield WSGIHandler()
    for signal in signals:
        signal.connect(close_old_connections)


def test_scim2_tester_finds_no_fault(secret, application):
    client = WSGISCIMClient(
        application,
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {secret}"},
    )
    results = scim2_tester.check_server(client)
    faults = [
        result.reason for result in results if result.status not in (Status.SUCCESS, Status.SKIPPED)
    ]
    # An account is open or closed, and its only address is primary, whatever the tester sends.
    others = [reason for reason in faults if not re.search("'(active|emails)'", reason)]
    assert others == []
    assert len(faults) <= 3
    assert len(results) > 50


def _is_left_out(name):
    """Whether a rule is about sorting, cursors, the root, or attributes that the hub lacks."""
    words = ("sort", "cursor", "root", "filters_as", "response_returns")
    others = ("test_update_replaces_the_stored_resource",)
    return any(word in name for word in words) or name.endswith("_version") or name in others


class TestStorage(ScimStorageContract):
    """The rules of scim2-server for whatever stores its resources."""

    vars().update({name: None for name in dir(ScimStorageContract) if _is_left_out(name)})

    @pytest.fixture
    def provider(self):
        return PROVIDER

    @pytest.fixture
    def storage(self, secret):
        return Storage(ScimClient.objects.get())


# Sign-in with OpenID


ADA = {"email": "Ada@example.org", "email_verified": True, "preferred_username": "lovelace"}


@pytest.fixture
def provisioned(secret):
    made = Provider(secret).create("ada")
    return User.objects.get(scim_user=made["id"])


def test_a_confirmed_address_leads_into_the_account_that_scim_made(openid, provisioned, settings):  # noqa: F811
    settings.HUB_OIDC_ACCOUNTS = False
    browser = Client()
    assert sign_in(openid, browser, sub="s1", **ADA).status_code == 302
    assert whoami(browser) == "ada"
    assert not provisioned.has_usable_password()
    again = Client()
    sign_in(openid, again, sub="s1", email="new@example.org", email_verified=True)
    assert whoami(again) == "ada"


def test_an_address_that_is_not_confirmed_leads_nowhere(openid, provisioned):  # noqa: F811
    browser = Client()
    refused = sign_in(openid, browser, sub="s1", **ADA | {"email_verified": False})
    assert refused.status_code == 409
    assert whoami(browser) is None


def test_a_second_subject_with_the_address_is_refused(openid, provisioned):  # noqa: F811
    sign_in(openid, Client(), sub="s1", **ADA)
    browser = Client()
    assert sign_in(openid, browser, sub="s2", **ADA).status_code == 409
    assert whoami(browser) is None


def test_an_address_of_two_accounts_leads_nowhere(openid, provisioned, bob):  # noqa: F811
    User.objects.filter(pk=bob.pk).update(email="ADA@example.org")
    browser = Client()
    assert sign_in(openid, browser, sub="s1", **ADA).status_code == 409
    assert whoami(browser) is None


def test_a_closed_account_of_scim_stays_closed(openid, provisioned, secret):  # noqa: F811
    made = provisioned.scim_user
    Provider(secret).patch(
        f"Users/{made.pk}", {"op": "Replace", "path": "active", "value": "False"}
    )
    browser = Client()
    sign_in(openid, browser, sub="s1", **ADA)
    assert whoami(browser) is None
    provisioned.refresh_from_db()
    assert not provisioned.is_active


def test_groups_of_scim_count_before_those_of_a_sign_in(openid, provisioned, secret, settings, bob):  # noqa: F811
    lab = namespaces.create(bob, slug="lab")
    settings.HUB_OIDC_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "lab", "maintainer"),
    ]
    sign_in(openid, Client(), sub="s1", **ADA, groups=["staff"])
    assert roles_in(lab)["ada"] == "reader"
    made = {"id": str(provisioned.scim_user.pk)}
    Provider(secret).create_group("chemists", made)
    sign_in(openid, Client(), sub="s1", **ADA, groups=[])
    assert roles_in(lab)["ada"] == "maintainer"
