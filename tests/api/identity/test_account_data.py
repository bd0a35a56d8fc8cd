"""A person's data: all of it without secrets, and what becomes of it when they are erased."""

from __future__ import annotations

import json

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.utils import timezone

from registry.community.discussions import services as discussions
from registry.core import outbox, usage
from registry.identity import account_data
from registry.identity.models import SecurityEvent
from registry.models import AccessToken, Event, Membership, Namespace, User, Version
from registry.people.services import users
from registry.versions.git_objects import Repository, Target
from tests import factories
from tests.api.versions.test_models import problem

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.capability("identity"),
    pytest.mark.capability("community"),
]
PASSWORD = "a long enough password"


def signed_in(name="ada"):
    client = Client(REMOTE_ADDR="192.0.2.4")
    form = {"username": name, "password": PASSWORD}
    assert client.post("/login", form).status_code == 302
    return client


@pytest.fixture
def version(ada, bob):
    """A version of Ada's, with a remark of hers, and much that is about her."""
    version = factories.version(ada)
    ada.email = "ada@example.org"
    ada.first_name = "Ada Augusta"
    ada.save()
    discussions.open_discussion(ada, model=version.model, title="Hello", body="My own words")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    SocialAccount.objects.create(user=ada, provider="oidc", uid="7", extra_data={"name": "Ada"})
    space = factories.namespace(bob, "lab")
    Membership.objects.create(namespace=space, user=ada, role="writer")
    return version


def export(client):
    answer = client.post("/account/data/export")
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def test_an_export_has_everything_but_secrets(ada, bob, version):
    secret = factories.token(ada)
    client = signed_in()
    factor = Authenticator.objects.create(user=ada, type="totp", data={"secret": "sealed-words"})
    usage.notes.flush()
    text = export(client)
    data = json.loads(text)
    assert data["account"]["email"] == "ada@example.org"
    tables = data["tables"]
    assert [row["body"] for row in tables["registry.comment.author"]] == ["My own words"]
    assert [row["type"] for row in tables["mfa.authenticator.user"]] == ["totp"]
    assert tables["identity.accountsession.user"][0]["address"] == "192.0.2.4"
    assert {row["verb"] for row in tables["registry.event.actor"]} >= {"version.drafted"}
    assert any(row["kind"] == "sign_in" for row in tables["identity.securityevent.actor"])
    ada.refresh_from_db()
    token = AccessToken.objects.get()
    kept = (secret, token.digest, ada.password, client.session.session_key, factor.data["secret"])
    assert [each for each in kept if each in text] == []


def test_an_export_is_of_ones_own_rows_alone(ada, bob, version):
    text = export(signed_in("bob"))
    assert "ada@example.org" not in text
    assert "My own words" not in text
    assert Client().post("/account/data/export").status_code == 302


def test_what_an_account_did_to_the_rows_of_others_is_a_key(ada, bob, version):
    comment = version.model.discussions.get().comments.get()
    comment.hidden_by, comment.hidden_at, comment.hidden_reason = bob, timezone.now(), "rude"
    comment.save()
    tables = json.loads(export(signed_in("bob")))["tables"]
    assert tables["registry.comment.hidden_by"] == [{"id": comment.pk}]


def test_an_erased_person_is_a_pseudonym(ada, version, graphs, lists):
    secret = factories.token(ada)
    client, other = signed_in(), signed_in()
    usage.notes.flush()
    page = client.get("/account/data").content.decode()
    assert f"erased-{ada.pk}" in page
    assert "1 published version" in page
    wrong = {"username": "ada", "password": "wrong"}
    assert client.post("/account/data", wrong).status_code == 422
    assert (
        client.post("/account/data", {"username": "bob", "password": PASSWORD}).status_code == 422
    )
    assert User.objects.get(pk=ada.pk).is_active
    done = client.post("/account/data", {"username": "ada", "password": PASSWORD})
    assert done.status_code == 302
    outbox.deliver()
    user = User.objects.get(pk=ada.pk)
    assert (user.username, user.email, user.first_name) == (f"erased-{ada.pk}", "", "")
    assert not user.is_active
    assert not user.has_usable_password()
    for table in (EmailAddress, SocialAccount, AccessToken):
        assert not table.objects.filter(user=user).exists(), table
    assert not Membership.objects.filter(user=user, namespace__slug="lab").exists()
    assert other.get("/account").status_code == 302
    api = Client(headers={"Authorization": f"Bearer {secret}"})
    assert api.get("/api/v1/whoami").status_code == 401
    # The model stays, and nothing about it says who she was but the name of its namespace.
    guest = Client()
    read = guest.get("/api/v1/models/ada/net/versions/1").json()
    assert read["created_by"] == f"erased-{ada.pk}"
    page = guest.get("/models/ada/net/discussions/1").content.decode()
    assert "My own words" in page
    assert f"erased-{ada.pk}" in page
    assert Event.objects.get(verb="user.erased").actor == user
    assert SecurityEvent.objects.filter(actor=user, address="192.0.2.4").exists()
    assert "Ada Augusta" not in str(list(User.objects.values()))


def test_commits_keep_their_ids(ada, bob, version):
    assert has_commit(version)
    account_data.erase(ada, user=ada)
    assert has_commit(version)
    assert User.objects.get(pk=ada.pk).commit_name == "ada"


def has_commit(version):
    """Whether git gets the commit of a version, whose id is a digest of all that it holds."""
    version = Version.objects.get(pk=version.pk)
    versions = Version.objects.filter(model=version.model)
    repository = Repository(version.model, versions, for_readers=True)
    return repository.add(Target(version.commit_id, version))


def test_a_namespace_that_no_one_relies_on_loses_the_name(bob):
    account_data.erase(bob, user=bob)
    assert not Namespace.objects.filter(slug="bob").exists()
    assert User.objects.get(pk=bob.pk).commit_name == ""
    assert users.create(username="bob").username == "bob"


def test_the_last_owner_and_the_last_administrator_stay(ada, bob, admin, api):
    factories.namespace(bob, "lab")
    problem(api(admin).post("users/bob/erase"), 409, "state-conflict")
    problem(api(admin).post("users/admin/erase"), 409, "state-conflict")
    problem(api(ada).post("users/bob/erase"), 403, "not-allowed")
    assert set(User.objects.values_list("username", flat=True)) >= {"ada", "bob", "admin"}
    assert api(admin).post("users/ada/erase").status_code == 204
    assert not User.objects.filter(username="ada").exists()
    assert Event.objects.get(verb="user.erased").actor.username == "admin"
