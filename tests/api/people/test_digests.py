"""Digests of watched models: over real SMTP, of what one may read, once each, with a way out."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from frontend.pages.community import digests as sending
from registry.community import digests, interest
from registry.models import Version, WatchDigest
from registry.versions.services import registered_models
from tests import factories, mail
from tests.api.versions.test_models import problem

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
DIGEST = "watching/digest"


@pytest.fixture
def inbox(settings):
    settings.HUB_PUBLIC_URL = "http://testserver/"
    with mail.server(settings) as box:
        yield box


@pytest.fixture
def bob(bob):
    bob.email = "bob@example.org"
    bob.save()
    return bob


def later(days=1):
    """Let days pass: what happened and what is due lies that much further back."""
    for row in WatchDigest.objects.all():
        row.next_at -= timedelta(days=days)
        row.covered_until -= timedelta(days=days)
        row.save()
    for version in Version.objects.exclude(published_at=None):
        Version.objects.filter(pk=version.pk).update(
            published_at=version.published_at - timedelta(days=days)
        )


def watched(ada, bob, interval="daily"):
    """A model that Bob watches, with a digest."""
    model = factories.version(ada).model
    interest.watch(bob, model=model)
    digests.set_interval(bob, interval=interval)
    return model


def test_the_interval_is_chosen_over_the_api(api, bob, inbox):
    assert api(bob).get(DIGEST).json() == {"interval": "never"}
    for interval in ("weekly", "daily", "daily"):
        assert api(bob).put(DIGEST, {"interval": interval}).json() == {"interval": interval}
    row = WatchDigest.objects.get()
    assert timedelta(hours=23) < row.next_at - timezone.now() <= timedelta(days=1)
    assert api(bob).put(DIGEST, {"interval": "never"}).status_code == 200
    assert not WatchDigest.objects.exists()
    problem(api(bob).put(DIGEST, {"interval": "hourly"}), 400, "invalid-request")
    problem(api().get(DIGEST), 401, "not-authenticated")


def test_there_is_none_without_a_mail_server_or_an_address(api, ada, bob):
    problem(api(bob).put(DIGEST, {"interval": "daily"}), 409, "state-conflict")
    browser = Client()
    browser.force_login(bob)
    assert "Digest by mail" not in browser.get("/watching").content.decode()


def test_an_account_without_an_address_gets_none(api, ada, inbox):
    problem(api(ada).put(DIGEST, {"interval": "daily"}), 409, "state-conflict")


def test_news_come_once_as_text_and_html(ada, bob, inbox):
    model = watched(ada, bob)
    assert sending.send_due() == 0
    version = factories.version(ada, model, message="Better <b>teeth</b>")
    assert sending.send_due() == 0
    later()
    assert sending.send_due() == 1
    assert sending.send_due() == 0
    (received,) = inbox.mails
    assert (received["To"], received["Auto-Submitted"]) == ("bob@example.org", "auto-generated")
    text = received.get_body(("plain",)).get_content()
    html = received.get_body(("html",)).get_content()
    page = f"http://testserver/models/ada/net/v/{version.number}"
    assert f"version 2 ({page}) published: Better <b>teeth</b>" in text
    assert "version 1" not in text
    assert f'<a href="{page}">version 2</a> published: Better &lt;b&gt;teeth&lt;/b&gt;' in html
    later()
    assert sending.send_due() == 0
    assert len(inbox.mails) == 1


def test_a_weekly_one_waits_for_a_week(ada, bob, inbox):
    model = watched(ada, bob, "weekly")
    factories.version(ada, model)
    later(6)
    assert sending.send_due() == 0
    later(1)
    assert sending.send_due() == 1


def test_what_one_may_not_read_any_more_is_left_out(ada, bob, inbox):
    model = watched(ada, bob)
    factories.version(ada, model)
    registered_models.edit(ada, model=model, visibility="private")
    later()
    assert sending.send_due() == 0
    assert inbox.mails == []


def test_closed_accounts_get_none(ada, bob, inbox):
    model = watched(ada, bob)
    factories.version(ada, model)
    bob.is_active = False
    bob.save()
    later()
    assert sending.send_due() == 0


def test_the_way_out_is_one_click_without_signing_in(ada, bob, inbox):
    model = watched(ada, bob)
    factories.version(ada, model)
    later()
    sending.send_due()
    (received,) = inbox.mails
    assert received["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    way_out = received["List-Unsubscribe"].strip()
    link = re.fullmatch(r"<http://testserver(/watching/digest/\S+)>", way_out)
    assert link[1] in received.get_body(("plain",)).get_content()
    browser = Client(enforce_csrf_checks=True)
    # Programs that look at links end nothing.
    assert "Send no more digests" in browser.get(link[1]).content.decode()
    assert WatchDigest.objects.exists()
    for _ in range(2):
        answer = browser.post(link[1], {"List-Unsubscribe": "One-Click"})
        assert answer.status_code == 200
    assert not WatchDigest.objects.exists()
    assert browser.post(f"{link[1]}x").status_code == 404
    assert browser.post("/watching/digest/wrong").status_code == 404


def test_the_page_chooses(ada, bob, inbox):
    browser = Client()
    browser.force_login(bob)
    assert "Digest by mail" in browser.get("/watching").content.decode()
    browser.post("/watching/digest", {"interval": "weekly"})
    assert WatchDigest.objects.get().interval == "weekly"
    assert browser.post("/watching/digest", {"interval": "hourly"}).status_code == 400


def test_a_server_that_is_away_or_refuses_is_asked_again(ada, bob, inbox, settings):
    model = watched(ada, bob)
    factories.version(ada, model)
    later()
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    assert sending.send_due() == 0
    settings.EMAIL_PORT = port
    inbox.answer = "451 not now"
    assert sending.send_due() == 0
    assert sending.send_due() == 0  # an hour later
    inbox.answer = "250 OK"
    WatchDigest.objects.update(next_at=timezone.now())
    assert sending.send_due() == 1
    assert len(inbox.mails) == 1


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_ends_while_it_sends_loses_no_news_and_repeats_no_mail(
    ada, bob, inbox, monkeypatch, moment
):
    model = watched(ada, bob)
    factories.version(ada, model)
    later()
    name = {"before": (sending.mail, "send"), "after": (digests, "complete")}[moment]

    def end(*_args, **_options):
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(*name, end)
        with pytest.raises(KilledError):
            sending.send_due()
    before = len(inbox.mails)
    assert before == (moment == "after")
    assert sending.send_due() == 0
    factories.version(ada, model)
    later()
    assert sending.send_due() == 1
    assert len(inbox.mails) == before + 1
    text = inbox.mails[-1].get_body(("plain",)).get_content()
    assert "version 2" in text
    assert "version 3" in text


def test_two_processes_send_one_mail(ada, bob, inbox):
    model = watched(ada, bob)
    factories.version(ada, model)
    later()
    first, second = digests.due()[0], digests.due()[0]
    assert digests.claim(first)
    assert not digests.claim(second)
