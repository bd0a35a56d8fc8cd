"""SCIM 2.0: what identity providers send, and what becomes of accounts, roles and sessions."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from hub.server.settings.identity import GroupRole
from registry.core import usage
from registry.identity.models import ScimMember, ScimUser, SecurityEvent
from registry.identity.scim import clients
from registry.models import AccessToken, Event, Membership, Namespace, User
from registry.people.services import namespaces
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
CORE = "urn:ietf:params:scim:schemas:core:2.0"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"


class Provider:
    """An identity provider with a token of the hub."""

    def __init__(self, secret):
        self.http = Client()
        self.headers = {"Authorization": f"Bearer {secret}"}

    def send(self, method, path, content=None):
        return self.http.generic(
            method,
            f"/scim/v2/{path}",
            factories.json_text(content),
            content_type="application/scim+json",
            headers=self.headers,
        )

    def get(self, path):
        answer = self.send("GET", path)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def create(self, name="ada", **more):
        answer = self.send("POST", "Users", user_of(name, **more))
        assert answer.status_code == 201, answer.content
        return answer.json()

    def create_group(self, name, *members, **more):
        content = {
            "schemas": [f"{CORE}:Group"],
            "displayName": name,
            "members": [{"value": member["id"]} for member in members],
        }
        answer = self.send("POST", "Groups", content | more)
        assert answer.status_code == 201, answer.content
        return answer.json()

    def patch(self, path, *operations):
        content = {"schemas": [f"{MESSAGES}:PatchOp"], "Operations": list(operations)}
        return self.send("PATCH", path, content)


def user_of(name, **more):
    """A user as Entra ID sends one."""
    return {
        "schemas": [f"{CORE}:User", ENTERPRISE],
        "externalId": f"key-{name}",
        "userName": f"{name}@example.org",
        "active": True,
        "displayName": name.title(),
        "emails": [{"primary": True, "type": "work", "value": f"{name}@example.org"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "", "givenName": name.title(), "familyName": "Lovelace"},
        ENTERPRISE: {"department": "Chemistry"},
    } | more


@pytest.fixture
def secret(admin):
    return clients.create_token(admin, name="entra")[1]


@pytest.fixture
def provider(secret):
    return Provider(secret)


def error_of(answer, status, kind=None):
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/scim+json"
    content = answer.json()
    assert content["schemas"] == [f"{MESSAGES}:Error"]
    assert content["status"] == str(status)
    assert content.get("scimType") == kind
    return content["detail"]


def roles_in(namespace):
    rows = Membership.objects.filter(namespace=namespace)
    return dict(rows.values_list("user__username", "role"))


# Who may ask


def test_nothing_answers_without_a_token_of_its_kind(admin, ada, secret):
    browser = Client()
    browser.force_login(admin)
    others = [Client(), browser, Client(headers={"Authorization": "Bearer hf_wrong"})]
    others.append(Client(headers={"Authorization": f"Bearer {factories.token(admin)}"}))
    for path in ("Users", "ServiceProviderConfig", "Schemas", "nothing", ""):
        for client in others:
            answer = client.get(f"/scim/v2/{path}")
            error_of(answer, 401)
            assert answer["WWW-Authenticate"].startswith("Bearer")
    assert browser.post("/scim/v2/Users", user_of("eve"), "application/json").status_code == 401
    assert not User.objects.filter(username="eve").exists()


def test_its_token_opens_nothing_else(provider, ada, settings):
    factories.published(ada)
    for path in ("/api/v1/whoami", "/api/v1/models", "/api/v1/users", "/api/models/ada/net"):
        assert provider.http.get(path, headers=provider.headers).status_code == 401, path
    settings.HUB_GUESTS = "none"
    assert provider.http.get("/models/ada/net", headers=provider.headers).status_code == 401
    assert provider.send("GET", "Users").status_code == 200


def test_administrators_alone_make_and_revoke_tokens(api, admin, ada, provider):
    from hub.protocol import problems

    with pytest.raises(problems.NotAllowed):
        clients.create_token(ada, name="okta")
    row = AccessToken.objects.get(user__username="scim+entra")
    assert row.scopes == ["provision"]
    with pytest.raises(problems.NotAllowed):
        clients.revoke_token(ada, token_id=row.pk)
    clients.revoke_token(admin, token_id=row.pk)
    error_of(provider.send("GET", "Users"), 401)
    refused = api(admin).post("tokens", {"name": "x", "scopes": ["provision"]})
    assert refused.status_code == 400
    with pytest.raises(problems.NameReserved):
        namespaces.create(ada, slug="scim")


def test_a_second_token_of_a_provider_sees_the_same_users(admin, provider):
    made = provider.create()
    renewed = Provider(clients.create_token(admin, name="entra")[1])
    assert renewed.get(f"Users/{made['id']}")["userName"] == "ada@example.org"
    other = Provider(clients.create_token(admin, name="okta")[1])
    error_of(other.send("GET", f"Users/{made['id']}"), 404)
    assert other.get("Users")["totalResults"] == 0


# Users


def test_a_created_user_has_an_account_without_a_password(provider):
    made = provider.create()
    user = User.objects.get(username="ada")
    assert not user.has_usable_password()
    assert user.email == "ada@example.org"
    assert Namespace.objects.filter(slug="ada").exists()
    assert made["meta"]["location"] == f"http://testserver/scim/v2/Users/{made['id']}"
    assert made["emails"] == [{"value": "ada@example.org", "type": "work", "primary": True}]
    assert made["name"] == {"givenName": "Ada", "familyName": "Lovelace"}
    assert provider.get(f"Users/{made['id']}") == made


def test_changes_are_in_both_logs_with_the_provider_as_actor(provider):
    made = provider.create()
    provider.patch(f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": "False"})
    verbs = Event.objects.filter(actor__username="scim+entra").values_list("verb", flat=True)
    assert {"user.created", "user.closed"} <= set(verbs)
    usage.notes.flush()
    entry = SecurityEvent.objects.get(kind="user.closed")
    assert entry.actor.username == "scim+entra"
    assert "scim+entra" in entry.token
    assert entry.address


def test_filters_find_what_providers_look_for(provider):
    made = provider.create()
    provider.create("bob")
    for condition in (
        'userName eq "ADA@example.org"',
        'externalId eq "key-ada"',
        'emails.value eq "Ada@example.org"',
        f'id eq "{made["id"]}"',
    ):
        found = provider.send("GET", f"Users?filter={condition}").json()
        assert [user["id"] for user in found["Resources"]] == [made["id"]], condition
    for condition in ('userName eq "none"', 'externalId eq ""', 'externalId eq "KEY-ADA"'):
        assert provider.get(f"Users?filter={condition}")["totalResults"] == 0, condition


@pytest.mark.parametrize(
    "condition",
    [
        'userName sw "a"',
        'userName eq "a" or userName eq "b"',
        'not (userName eq "a")',
        "active eq true",
        "userName pr",
        'emails[type eq "work"]',
        "((((",
        "userName eq 1",
    ],
)
def test_other_filters_are_refused(provider, condition):
    provider.create()
    error_of(provider.send("GET", f"Users?filter={condition}"), 400, "invalidFilter")


def test_pages(provider):
    ids = [provider.create(f"user{number}")["id"] for number in range(5)]
    page = provider.get("Users?startIndex=2&count=2")
    assert [user["id"] for user in page["Resources"]] == ids[1:3]
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (5, 2, 2)
    assert provider.get("Users?count=0")["totalResults"] == 5


def test_a_taken_name_key_or_address_is_refused(provider, ada):
    provider.create("grace")
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    for same in (
        user_of("eve", userName="GRACE@example.org"),
        user_of("eve", externalId="key-grace"),
        user_of("eve", emails=[{"value": "grace@example.org", "primary": True}]),
        user_of("ada"),
    ):
        error_of(provider.send("POST", "Users", same), 409, "uniqueness")
    assert set(User.objects.values_list("username", flat=True)) == {
        "zoo-admin" if User.objects.filter(username="zoo-admin").exists() else "admin",
        "ada",
        "grace",
        "scim+entra",
    }


def test_an_account_of_before_is_not_there_for_scim(provider, ada):
    assert provider.get("Users")["totalResults"] == 0
    error_of(provider.send("DELETE", f"Users/{ada.pk}"), 404)
    made = provider.create(emails=[])
    assert ScimUser.objects.get(pk=made["id"]).user.username == "ada-2"


@pytest.mark.parametrize(
    "wrong",
    [
        {"userName": ""},
        {"userName": "a" * 255},
        {"userName": "a\x00b"},
        {"userName": "a\u202eb"},
        {"emails": [{"value": "none"}]},
        {"active": "maybe"},
        {"name": {"givenName": "a" * 151}},
        {"userName": ["a"]},
    ],
)
def test_bad_values_change_nothing(provider, wrong):
    answer = provider.send("POST", "Users", user_of("eve") | wrong)
    assert answer.status_code == 400, answer.content
    assert answer.json()["schemas"] == [f"{MESSAGES}:Error"]
    assert not ScimUser.objects.exists()
    assert User.objects.filter(username__startswith="eve").count() == 0


def test_text_that_is_no_json(provider):
    for body in ("{", "[1]", '"text"', "\xff", "{}" * 9):
        answer = provider.http.generic(
            "POST",
            "/scim/v2/Users",
            body,
            content_type="application/scim+json",
            headers=provider.headers,
        )
        error_of(answer, 400, answer.json().get("scimType"))
    answer = provider.http.post("/scim/v2/Users", {"a": 1}, headers=provider.headers)
    error_of(answer, 415)


# Closing


@pytest.mark.parametrize("value", [False, "False", "false"])
def test_closing_ends_sessions_and_tokens(provider, api, value):
    made = provider.create()
    user = User.objects.get(username="ada")
    browser = Client()
    browser.force_login(user)
    client = api(user)
    assert client.get("whoami").status_code == 200
    answer = provider.patch(
        f"Users/{made['id']}", {"op": "Replace", "path": "active", "value": value}
    )
    assert answer.status_code == 200
    assert answer.json()["active"] is False
    user.refresh_from_db()
    assert not user.is_active
    provider.patch(f"Users/{made['id']}", {"op": "replace", "value": {"active": True}})
    user.refresh_from_db()
    assert user.is_active
    assert client.get("whoami").status_code == 401
    assert browser.get("/api/v1/whoami").json().get("username") is None


def test_a_deleted_user_is_closed_and_comes_back_by_its_key(provider):
    made = provider.create()
    assert provider.send("DELETE", f"Users/{made['id']}").status_code == 204
    error_of(provider.send("GET", f"Users/{made['id']}"), 404)
    assert provider.get("Users")["totalResults"] == 0
    user = User.objects.get(username="ada")
    assert not user.is_active
    provider.create("eve", userName="ada@example.org", emails=[])
    assert ScimUser.objects.get(external_id="key-eve").user.username == "ada-2"
    again = provider.create("ada", userName="ada.l@example.org")
    user.refresh_from_db()
    assert user.is_active
    assert ScimUser.objects.get(pk=again["id"]).user == user


def test_the_last_administrator_stays(provider):
    made = provider.create()
    User.objects.update(is_superuser=False)
    User.objects.filter(username="ada").update(is_superuser=True)
    detail = error_of(provider.send("DELETE", f"Users/{made['id']}"), 409)
    assert "only administrator" in detail
    assert provider.get(f"Users/{made['id']}")["active"]


def test_an_erased_account_is_gone(provider):
    from registry.identity import account_data

    made = provider.create()
    user = User.objects.get(username="ada")
    account_data.erase(user, user=user)
    error_of(provider.send("GET", f"Users/{made['id']}"), 404)


# Changes


def test_okta_replaces_whole_users(provider):
    made = provider.create("grace")
    found = provider.get('Users?filter=userName eq "grace@example.org"&startIndex=1&count=100')
    [user] = found["Resources"]
    user |= {"active": False, "name": {"givenName": "Grace", "familyName": "Hopper"}}
    user["emails"] = [
        {"value": "other@example.org", "primary": False, "type": "home"},
        {"value": "hopper@example.org", "primary": True, "type": "work"},
    ]
    answer = provider.send("PUT", f"Users/{made['id']}", user)
    assert answer.status_code == 200, answer.content
    row = User.objects.get(username="grace")
    assert (row.last_name, row.email, row.is_active) == ("Hopper", "hopper@example.org", False)
    edited = Event.objects.get(verb="user.edited")
    assert edited.data["fields"] == ["email", "last_name"]
    assert "hopper" not in str(edited.data)


def test_entra_changes_attributes(provider):
    made = provider.create(emails=[])
    answer = provider.patch(
        f"Users/{made['id']}",
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "a@example.org"},
        {"op": "Replace", "path": "name.familyName", "value": "King"},
        {"op": "Replace", "path": "userName", "value": "king@example.org"},
        {"op": "Replace", "path": "displayName", "value": "A King"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Physics"},
    )
    assert answer.status_code == 200, answer.content
    user = User.objects.get(username="ada")
    assert (user.email, user.last_name) == ("a@example.org", "King")
    assert provider.get(f"Users/{made['id']}")["userName"] == "king@example.org"
    provider.patch(
        f"Users/{made['id']}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "b@example.org"},
    )
    user.refresh_from_db()
    assert user.email == "b@example.org"


def test_a_new_address_ends_the_old_one(provider):
    from allauth.account.models import EmailAddress

    made = provider.create()
    user = User.objects.get(username="ada")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    changed = [{"value": "king@example.org", "primary": True}]
    provider.send("PUT", f"Users/{made['id']}", user_of("ada", emails=changed))
    assert not EmailAddress.objects.filter(user=user).exists()


def test_entity_tags(provider):
    made = provider.create()
    path = f"/scim/v2/Users/{made['id']}"
    tag = made["meta"]["version"]
    same = provider.http.get(path, headers=provider.headers | {"If-None-Match": tag})
    assert same.status_code == 304
    User.objects.filter(username="ada").update(is_active=False)  # by an administrator
    late = provider.http.put(
        path,
        user_of("ada"),
        "application/scim+json",
        headers=provider.headers | {"If-Match": tag},
    )
    error_of(late, 412)
    assert not User.objects.get(username="ada").is_active


# Groups


@pytest.fixture
def lab(settings, bob):
    settings.HUB_OIDC_GROUPS = [
        GroupRole("staff", "lab", "reader"),
        GroupRole("chemists", "lab", "maintainer"),
    ]
    return namespaces.create(bob, slug="lab")


def test_roles_follow_members_at_once(provider, lab):
    ada, eve = provider.create("ada"), provider.create("eve")
    group = provider.create_group("chemists", ada, externalId="g1")
    provider.create_group("staff", ada, eve)
    assert roles_in(lab) == {"bob": "owner", "ada": "maintainer", "eve": "reader"}
    path = f"Groups/{group['id']}"
    add = {"op": "Add", "path": "members", "value": [{"$ref": None, "value": eve["id"]}]}
    assert provider.patch(path, add).status_code == 204
    assert roles_in(lab)["eve"] == "maintainer"
    provider.patch(path, {"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]})
    assert roles_in(lab)["ada"] == "reader"
    provider.patch(path, {"op": "remove", "path": f'members[value eq "{eve["id"]}"]'})
    assert roles_in(lab)["eve"] == "reader"
    provider.patch(path, {"op": "replace", "path": "members", "value": [{"value": ada["id"]}]})
    assert roles_in(lab)["ada"] == "maintainer"
    provider.patch(path, {"op": "replace", "value": {"id": group["id"], "displayName": "poets"}})
    assert roles_in(lab)["ada"] == "reader"
    provider.patch(path, {"op": "replace", "value": {"displayName": "chemists"}})
    assert roles_in(lab)["ada"] == "maintainer"
    assert provider.send("DELETE", path).status_code == 204
    assert roles_in(lab)["ada"] == "reader"
    changed = Event.objects.filter(verb="member.changed", actor__username="scim+entra")
    assert changed.count() == 9


def test_a_deleted_user_leaves_groups_and_roles(provider, lab):
    ada = provider.create("ada")
    group = provider.create_group("chemists", ada)
    provider.send("DELETE", f"Users/{ada['id']}")
    assert roles_in(lab) == {"bob": "owner"}
    assert not ScimMember.objects.exists()
    assert provider.get(f"Groups/{group['id']}").get("members") is None


def test_the_last_owner_stays(provider, lab, settings, bob):
    settings.HUB_OIDC_GROUPS = [GroupRole("heads", "lab", "owner")]
    ada = provider.create("ada")
    group = provider.create_group("heads", ada)
    namespaces.set_member(bob, namespace=lab, user=bob, role=None)
    assert provider.send("DELETE", f"Groups/{group['id']}").status_code == 204
    assert roles_in(lab) == {"ada": "owner"}


def test_groups_are_found_by_name(provider):
    ada = provider.create("ada")
    group = provider.create_group("Chemists", ada)
    found = provider.get('Groups?filter=displayName eq "chemists"&excludedAttributes=members')
    assert [row["id"] for row in found["Resources"]] == [group["id"]]
    assert "members" not in found["Resources"][0]
    whole = provider.get(f"Groups/{group['id']}")
    assert whole["members"] == [
        {
            "value": ada["id"],
            "$ref": f"http://testserver/scim/v2/Users/{ada['id']}",
            "type": "User",
        }
    ]
    same = {"schemas": [f"{CORE}:Group"], "displayName": "CHEMISTS"}
    error_of(provider.send("POST", "Groups", same), 409, "uniqueness")


def test_members_are_users_of_the_same_provider(provider, admin):
    other = Provider(clients.create_token(admin, name="okta")[1])
    theirs = other.create("eve")
    for member in ({"value": theirs["id"]}, {"value": "x"}, {"value": "1", "type": "Group"}):
        content = {"schemas": [f"{CORE}:Group"], "displayName": "staff", "members": [member]}
        error_of(provider.send("POST", "Groups", content), 400, "invalidValue")
    assert provider.get("Groups")["totalResults"] == 0


def test_other_addresses_and_methods(provider):
    error_of(provider.send("GET", "Nothing"), 404)
    error_of(provider.send("POST", "Bulk", {}), 501)
    error_of(provider.send("GET", "Me"), 501)
    error_of(provider.send("PUT", "Users", {}), 405)
    error_of(provider.send("GET", "Users?sortBy=userName"), 501)
    error_of(provider.send("GET", f"Users?filter={'x' * 1001}"), 400)
    assert provider.get("ServiceProviderConfig")["patch"] == {"supported": True}
    assert {row["name"] for row in provider.get("ResourceTypes")["Resources"]} == {"User", "Group"}


# The page of administrators


def test_the_page_makes_a_token_shows_it_once_and_revokes_it(admin, ada):
    browser = Client()
    browser.force_login(ada)
    assert browser.get("/administration/provisioning").status_code == 403
    assert browser.post("/administration/provisioning", {"name": "okta"}).status_code == 403
    browser.force_login(admin)
    assert "/administration/provisioning" in browser.get("/administration").content.decode()
    page = browser.post("/administration/provisioning", {"name": "okta"}).content.decode()
    assert "http://testserver/scim/v2<" in page
    secret = re.search(r"hf_[\w-]{40,}", page).group()
    provider = Provider(secret)
    provider.create()
    usage.notes.flush()
    again = browser.get("/administration/provisioning").content.decode()
    assert secret not in again
    assert "scim+okta" in again
    assert "never" not in again
    row = AccessToken.objects.get(user__username="scim+okta")
    assert secret[:8] == row.prefix
    path = f"/administration/provisioning/{row.pk}/revoke"
    assert "Revoke scim+okta?" in browser.get(path).content.decode()
    assert browser.post(path).status_code == 302
    error_of(provider.send("GET", "Users"), 401)
    wrong = browser.post("/administration/provisioning", {"name": "a b"})
    assert wrong.status_code == 422
