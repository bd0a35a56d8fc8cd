"""Accounts that people make themselves, with links that a real SMTP server carries."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from hub.server import backends
from registry.core import usage
from registry.identity.models import SecurityEvent
from registry.models import AccessToken, Event, Invitation, Membership, Namespace, User
from registry.people.services import tokens
from tests import mail

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PASSWORD = "correct horse battery staple"


@pytest.fixture
def inbox(settings):
    with mail.server(settings) as inbox:
        yield inbox


def signed_in(client):
    return client.get("/api/v1/whoami").json()["username"]


def register(client, path, name="grace"):
    return client.post(path, {"username": name, "password": PASSWORD})


def test_a_hub_is_closed_by_default(client, settings):
    assert settings.HUB_SIGN_UP == "closed"
    assert client.get("/account/new").status_code == 404
    page = client.get("/login").content.decode()
    assert "Create an account" not in page
    assert "Forgot" not in page


def test_closed_and_invitation_send_no_link(client, settings, inbox):
    for mode, words in (("closed", "Administrators create"), ("invitation", "by invitation")):
        settings.HUB_SIGN_UP = mode
        assert words in client.get("/account/new").content.decode()
        assert client.post("/account/new", {"email": "g@example.org"}).status_code == 422
    assert inbox.mails == []
    assert Invitation.objects.count() == 0


def test_an_open_hub_gives_an_account_to_the_owner_of_an_address(client, settings, inbox):
    settings.HUB_SIGN_UP = "open"
    assert (
        "Look into your inbox"
        in client.post("/account/new", {"email": "Grace@example.org"}).content.decode()
    )
    assert not User.objects.filter(email__iexact="grace@example.org").exists()
    assert inbox.mails[0]["To"] == "grace@example.org"
    path = inbox.link()
    assert client.get(path).status_code == 200
    assert register(client, path).status_code == 302
    assert signed_in(client) == "grace"
    user = User.objects.get(username="grace")
    assert user.email == "grace@example.org"
    assert user.emailaddress_set.get().verified
    assert Namespace.objects.filter(slug="grace").exists()
    assert Event.objects.filter(verb="user.created", subject_id=user.pk).exists()
    assert Client().get(path).status_code == 404
    assert register(Client(), path, "mallory").status_code == 404


def test_an_address_that_has_an_account_gets_no_second(client, settings, inbox, ada):
    settings.HUB_SIGN_UP = "open"
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    answers = [
        client.post("/account/new", {"email": email}).content.decode().replace(email, "")
        for email in ("ada@example.org", "new@example.org")
    ]
    assert "Look into your inbox" in answers[0]
    assert len(answers[0]) == len(answers[1])
    assert "has one already: ada" in inbox.texts()[0]
    assert Invitation.objects.get().email == "new@example.org"


def test_a_domain_is_the_whole_part_behind_the_at(client, settings, inbox):
    settings.HUB_SIGN_UP, settings.HUB_SIGN_UP_DOMAINS = "domain", ["example.org"]
    for email in ("a@evil-example.org", "a@example.org.evil.net", "a@sub.example.org"):
        assert client.post("/account/new", {"email": email}).status_code == 422, email
    assert client.post("/account/new", {"email": "a@EXAMPLE.org"}).status_code == 200
    assert len(inbox.mails) == 1


def test_mails_to_an_address_are_limited(client, settings, inbox):
    settings.HUB_SIGN_UP, settings.HUB_LIMITS_MAIL_RATE = "open", "2/hour"
    form = {"email": "a@example.org"}
    statuses = [
        Client().post("/account/new", form, REMOTE_ADDR=f"192.0.2.{n}").status_code
        for n in range(3)
    ]
    assert statuses == [200, 200, 422]
    assert client.post("/login/reset", form, REMOTE_ADDR="192.0.2.9").status_code == 429
    assert len(inbox.mails) == 2


def test_administrators_invite_to_a_role(client, settings, inbox, admin):
    settings.HUB_SIGN_UP = "invitation"
    client.force_login(admin)
    space = Namespace.objects.create(slug="lab", kind=Namespace.Kind.ORG)
    form = {"emails": "grace@example.org", "namespace": "lab", "role": "writer"}
    assert client.post("/administration/invitations", form).status_code == 302
    page = client.get("/administration/invitations").content.decode()
    assert "grace@example.org" in page
    # It asks before it revokes one.
    folded = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    assert not re.search(r"<button[^>]*>Revoke", folded)
    guest = Client()
    assert "writer in" in " ".join(guest.get(inbox.link()).content.decode().split())
    assert register(guest, inbox.link()).status_code == 302
    assert Membership.objects.get(namespace=space, user__username="grace").role == "writer"
    created = Event.objects.get(verb="user.created")
    assert (created.actor.username, created.data["invited_by"]) == ("grace", admin.username)
    usage.notes.flush()
    sent = SecurityEvent.objects.get(kind="invitation_sent")
    assert (sent.actor, sent.data["email"]) == (admin, "grace@example.org")
    assert (sent.data["namespace"], sent.data["role"]) == ("lab", "writer")


def test_several_people_are_invited_at_once(client, settings, inbox, admin):
    settings.HUB_SIGN_UP = "invitation"
    client.force_login(admin)
    emails = [f"p{number}@example.org" for number in range(10)]
    form = {"emails": "\n".join([*emails[:5], ", ".join(emails[4:])]), "role": "reader"}
    answer = client.post("/administration/invitations", form, follow=True)
    assert "10 invitations sent." in answer.content.decode()
    assert [message["To"] for message in inbox.mails] == emails
    answer = client.post(
        "/administration/invitations", {"emails": "a@example.org b@ c", "role": "reader"}
    )
    assert answer.status_code == 422
    assert "Not an e-mail address: b@, c." in answer.content.decode()
    assert len(inbox.mails) == Invitation.objects.count() == 10


def test_where_the_mail_server_stops_the_others_stay_in_the_form(client, settings, inbox, admin):
    settings.HUB_SIGN_UP = "invitation"
    client.force_login(admin)
    inbox.most = 2
    emails = [f"p{number}@example.org" for number in range(4)]
    form = {"emails": "\n".join(emails), "role": "reader"}
    answer = client.post("/administration/invitations", form)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "2 invitations sent." in text
    assert "p2@example.org\np3@example.org</textarea>" in text
    assert {row.email for row in Invitation.objects.all()} == set(emails[:2])


def test_only_administrators_invite(client, settings, inbox, ada):
    settings.HUB_SIGN_UP = "invitation"
    client.force_login(ada)
    form = {"emails": "grace@example.org", "role": "reader"}
    assert client.post("/administration/invitations", form).status_code == 403
    assert inbox.mails == []


def test_an_invitation_that_is_revoked_or_old_leads_nowhere(client, settings, inbox, admin):
    settings.HUB_SIGN_UP = "invitation"
    client.force_login(admin)
    paths = []
    for email in ("a@example.org", "b@example.org"):
        client.post("/administration/invitations", {"emails": email, "role": "reader"})
        paths.append(inbox.link())
    row = Invitation.objects.get(email="a@example.org")
    assert client.post(f"/administration/invitations/{row.pk}/revoke").status_code == 302
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert [register(Client(), path).status_code for path in paths] == [404, 404]
    assert not User.objects.filter(username="grace").exists()


def test_a_name_that_is_taken_or_a_weak_password_is_refused(client, settings, inbox, ada):
    settings.HUB_SIGN_UP = "open"
    client.post("/account/new", {"email": "g@example.org"})
    assert register(client, inbox.link(), "ada").status_code == 422
    weak = {"username": "grace", "password": "grace"}
    assert client.post(inbox.link(), weak).status_code == 422
    assert register(client, inbox.link()).status_code == 302


def test_a_password_is_reset_by_mail(client, settings, inbox, ada):
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    other = Client()
    other.force_login(ada)
    tokens.issue(ada, name="t", scopes=["read"])
    assert client.post("/login/reset", {"email": "ADA@example.org"}).status_code == 302
    path = inbox.link()
    asked = client.get(path, follow=True)
    assert "Set a new password" in asked.content.decode()
    form = {"password1": PASSWORD, "password2": PASSWORD}
    assert client.post(asked.redirect_chain[-1][0], form).status_code == 302
    assert other.get("/account").status_code == 302
    assert not AccessToken.objects.exists()
    assert Event.objects.filter(verb="user.password", subject_id=ada.pk).exists()
    assert Client().post("/login", {"username": "ada", "password": PASSWORD}).status_code == 302
    assert "used or has expired" in Client().get(path).content.decode()


def test_a_link_of_a_mail_names_the_hub_whatever_host_was_asked(client, settings, inbox, ada):
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    client.post("/login/reset", {"email": "ada@example.org"}, headers={"Host": "localhost"})
    assert "http://testserver/login/reset/" in inbox.texts()[0]
    assert "localhost" not in inbox.texts()[0]


def test_unknown_and_closed_accounts_are_answered_alike(client, settings, inbox, ada):
    User.objects.filter(pk=ada.pk).update(email="ada@example.org", is_active=False)
    answers = [
        client.post("/login/reset", {"email": email}, follow=True).content
        for email in ("ada@example.org", "nobody@example.org")
    ]
    assert answers[0] == answers[1]
    assert all("No account has it" in text for text in inbox.texts())


def test_an_address_is_changed_once_it_is_confirmed(settings, inbox, ada):
    client = Client()
    client.post("/login", {"username": "ada", "password": "a long enough password"})
    asked = client.post("/account/email", {"email": "new@example.org", "action_add": "1"})
    assert inbox.mails == []
    assert client.post(asked.url, {"password": "a long enough password"}).status_code == 302
    ada.refresh_from_db()
    assert ada.email != "new@example.org"
    path = inbox.link()
    assert client.get(path).status_code == 200
    ada.refresh_from_db()
    assert ada.email != "new@example.org"
    assert client.post(path).status_code == 302
    ada.refresh_from_db()
    assert ada.email == "new@example.org"


def test_a_session_alone_changes_no_address(settings, inbox, ada):
    client = Client()
    client.force_login(ada)
    form = {"email": "new@example.org", "action_add": "1"}
    asked = client.post("/account/email", form)
    assert asked.status_code == 302
    assert asked.url.startswith("/account/confirm")
    assert inbox.mails == []
    for _ in range(10):
        client.post("/account/confirm", {"password": "wrong"})
    assert client.post("/account/confirm", {"password": "wrong"}).status_code == 429


def test_a_server_that_takes_no_mail_is_said(client, settings, ada):
    with mail.server(settings):
        pass
    settings.HUB_SIGN_UP = "open"
    answer = client.post("/account/new", {"email": "g@example.org"})
    assert answer.status_code == 422
    assert "mail could not be sent" in answer.content.decode()
    assert Invitation.objects.count() == 0
    (fault,) = backends.unanswered({backends.Backend.MAIL})
    assert "The mail server cannot be used" in fault.msg


def test_a_server_that_answers_is_no_fault(settings, inbox):
    assert backends.unanswered({backends.Backend.MAIL}) == []
