"""Sessions: listed with device and address, ended for good, and noted by reads."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from registry.core import usage
from registry.identity import sessions
from registry.identity.models import AccountSession, SecurityEvent
from tests import factories, mail
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.django_db, pytest.mark.capability("identity")]
PASSWORD = "a long enough password"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1"


@pytest.fixture
def inbox(settings):
    with mail.server(settings) as inbox:
        yield inbox


def browser(agent=FIREFOX, address="192.0.2.4", name="ada"):
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR=address)
    form = {"username": name, "password": PASSWORD}
    assert client.post("/login", form).status_code == 302
    return client


def is_in(client):
    return client.get("/account").status_code == 200


def ends_without_question(page):
    """Whether a button of a page ends sessions at once."""
    text = re.sub(r"<details.*?</details>", "", page.content.decode(), flags=re.DOTALL)
    return re.search(r"<button[^>]*>End", text) is not None


def row_of(client):
    return AccountSession.objects.get(session_key=client.session.session_key)


def test_sessions_are_listed_with_device_and_address(ada):
    one, other = browser(), browser(SAFARI, "192.0.2.5")
    page = other.get("/account/sessions").content.decode()
    for words in ("Firefox on Linux", "192.0.2.4", "Safari on iPhone", "192.0.2.5"):
        assert words in page
    assert page.count("this session") == 1
    assert not ends_without_question(other.get("/account/sessions"))
    rows = {row["address"]: row for row in one.get("/api/v1/sessions").json()["items"]}
    assert {name: row["is_current"] for name, row in rows.items()} == {
        "192.0.2.4": True,
        "192.0.2.5": False,
    }
    assert rows["192.0.2.4"]["device"] == FIREFOX


def test_a_session_is_ended_and_stays_so(ada):
    one, other = browser(), browser(SAFARI)
    row = row_of(other)
    assert one.post(f"/account/sessions/{row.pk}/end").status_code == 302
    assert not is_in(other)
    assert is_in(one)
    # What the ended browser still notes does not bring it back.
    usage.notes.flush()
    assert AccountSession.objects.count() == 1
    assert not is_in(other)


def test_all_others_are_ended_those_without_a_row_too(ada):
    factories.user("bob")
    one, others = browser(), [browser(SAFARI), browser(SAFARI), browser(name="bob")]
    AccountSession.objects.exclude(pk=row_of(one).pk).delete()  # begun before rows were kept
    assert one.post("/account/sessions/end-others").status_code == 302
    assert [is_in(client) for client in (one, *others)] == [True, False, False, True]


def test_a_program_lists_and_ends_the_sessions_of_its_user(ada, api):
    one, other = browser(), browser(SAFARI)
    program = api(ada)
    assert len(program.get("sessions").json()["items"]) == 2
    assert program.delete(f"sessions/{row_of(one).pk}").status_code == 204
    assert [is_in(one), is_in(other)] == [False, True]
    assert program.delete("sessions").status_code == 204
    assert not is_in(other)
    assert program.get("whoami").status_code == 200
    problem(api(ada, scopes=("write",)).get("sessions"), 403, "not-allowed")
    problem(api().get("sessions"), 401, "not-authenticated")


def test_no_one_ends_the_sessions_of_another_but_administrators_all(ada, bob, admin, api):
    one = browser()
    problem(api(bob).delete(f"sessions/{row_of(one).pk}"), 404, "not-found")
    problem(api(bob).delete("users/ada/sessions"), 403, "not-allowed")
    assert is_in(one)
    assert api(admin).delete("users/ada/sessions").status_code == 204
    assert not is_in(one)
    usage.notes.flush()
    entry = SecurityEvent.objects.get(kind="session_ended")
    assert (entry.actor, entry.subject_id, entry.data) == (admin, str(ada.pk), {"sessions": 1})


def test_an_administrator_lists_and_ends_sessions_of_an_account(ada, admin, api):
    own, one, other = browser(name=admin.username), browser(), browser(SAFARI, "192.0.2.5")
    page = own.get("/administration/accounts/ada")
    text = page.content.decode()
    assert all(words in text for words in ("Firefox on Linux", "Safari on iPhone", "192.0.2.5"))
    assert not ends_without_question(page)
    row = row_of(other)
    assert own.post(f"/administration/accounts/ada/sessions/{row.pk}/end").status_code == 302
    assert [is_in(one), is_in(other)] == [True, False]
    program = api(admin)
    [left] = program.get("users/ada/sessions").json()["items"]
    assert (left["id"], left["is_current"]) == (row_of(one).pk, False)
    # The address names whose session it is: another account's is not there.
    problem(program.delete(f"users/ada/sessions/{row_of(own).pk}"), 404, "not-found")
    assert program.delete(f"users/ada/sessions/{left['id']}").status_code == 204
    one = browser()
    assert own.post("/administration/accounts/ada/sessions/end").status_code == 302
    assert [is_in(one), is_in(own)] == [False, True]
    usage.notes.flush()
    entries = SecurityEvent.objects.filter(kind="session_ended")
    assert {(entry.actor, entry.subject_id) for entry in entries} == {(admin, str(ada.pk))}


def test_ending_all_sessions_of_ones_own_account_keeps_this(admin):
    own, other = browser(name=admin.username), browser(SAFARI, name=admin.username)
    ends = f"/administration/accounts/{admin.username}/sessions/end"
    assert own.post(ends).status_code == 302
    assert [is_in(own), is_in(other)] == [True, False]


def test_the_page_of_an_account_is_for_administrators(ada, bob, api):
    one, other = browser(), browser(name="bob")
    row = row_of(one)
    assert other.get("/administration/accounts/ada").status_code == 403
    for address in (f"{row.pk}/end", "end"):
        answer = other.post(f"/administration/accounts/ada/sessions/{address}")
        assert answer.status_code == 403
    problem(api(bob).get("users/ada/sessions"), 403, "not-allowed")
    problem(api(bob).delete(f"users/ada/sessions/{row.pk}"), 403, "not-allowed")
    assert is_in(one)


def test_a_new_password_keeps_this_session_and_its_row(ada):
    one, other = browser(), browser(SAFARI)
    row = row_of(one)
    new = "another long password"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert one.post("/account/password", form).status_code == 302
    assert row_of(one) == row
    assert [found["id"] for found in one.get("/api/v1/sessions").json()["items"]] == [row.pk]
    assert not is_in(other)


def test_signing_out_deletes_the_row(ada):
    one = browser()
    one.post("/logout")
    assert not AccountSession.objects.exists()


def test_use_moves_the_idle_limit_and_is_noted_by_reads(ada, settings):
    settings.HUB_SESSION_IDLE_DAYS = 2
    one = browser()
    key = one.session.session_key
    begun = timezone.now() - timedelta(days=1)
    AccountSession.objects.update(last_seen_at=begun, address="192.0.2.1")
    Session.objects.filter(pk=key).update(expire_date=begun + timedelta(days=2))
    assert is_in(one)
    assert AccountSession.objects.get().last_seen_at == begun
    usage.notes.flush()
    row = AccountSession.objects.get()
    assert row.last_seen_at > begun + timedelta(hours=23)
    assert row.address == "192.0.2.4"
    assert Session.objects.get().expire_date > begun + timedelta(days=2, hours=23)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_in(one)
    assert sessions.tidy() == 1
    assert not Session.objects.exists()


def test_a_session_ends_however_often_it_is_used(ada, settings):
    one, other = browser(), browser()
    old = timezone.now() - timedelta(days=settings.HUB_SESSION_DAYS, minutes=1)
    AccountSession.objects.filter(pk=row_of(one).pk).update(created_at=old)
    assert sessions.tidy() == 1
    assert [is_in(one), is_in(other)] == [False, True]


def notices(inbox, flush):
    flush()
    return [message["Subject"] for message in inbox.mails]


def test_the_owner_hears_of_new_devices_and_tokens_alone(ada, inbox, events_delivered):
    ada.email = "ada@example.org"
    ada.save()

    def flush():
        for _ in range(2):  # entries first, then the mails that they ask for
            with events_delivered():
                usage.notes.flush()

    one = browser()
    new_device = "New sign-in to http://testserver"
    assert notices(inbox, flush) == [new_device]
    assert all(words in inbox.texts()[0] for words in ("Firefox on Linux", "192.0.2.4"))
    assert "new device" in one.get("/account/sessions").content.decode()
    one.post("/logout")
    one.post("/login", {"username": "ada", "password": PASSWORD})
    assert notices(inbox, flush) == [new_device]
    with events_delivered():
        form = {"name": "laptop", "scopes": ["read"], "expires_days": 5}
        assert one.post("/account/tokens", form).status_code == 200
    assert notices(inbox, flush) == [new_device, "New access token on http://testserver"]
    assert "laptop" not in inbox.texts()[-1]


def test_the_owner_hears_of_another_password(ada, admin, inbox, events_delivered):
    ada.email = "ada@example.org"
    ada.save()
    own = browser(name=admin.username)
    with events_delivered():
        answer = own.post("/administration/accounts/ada/password")
    assert "changes it at the next sign-in" in answer.content.decode()
    for _ in range(2):
        with events_delivered():
            usage.notes.flush()
    assert [message["Subject"] for message in inbox.mails] == [
        "Password changed on http://testserver"
    ]
    text = inbox.texts()[0]
    assert f"by the administrator {admin.username}" in text
    assert f"showed the new password to {admin.username} alone: ask for it" in text


def test_a_mail_server_that_is_away_stops_no_sign_in(ada, settings, events_delivered):
    with mail.server(settings):
        pass
    ada.email = "ada@example.org"
    ada.save()
    one = browser()
    for _ in range(2):
        with events_delivered():
            usage.notes.flush()
    assert is_in(one)
