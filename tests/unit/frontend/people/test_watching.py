"""The page of watched models, and the buttons on the page of a model."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from registry.community.discussions import services as discussions
from registry.models import Like, RegisteredModel, Watch
from registry.versions.services import versions
from registry.versions.services.deprecations import deprecate
from runners.evaluations import scheduling
from tests import evaluated, factories, proven, timed
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
ACT, PAGE = "/models/ada/net/interest", "/models/ada/net"


@rows
def start():
    ada = factories.user("ada")
    return ada, factories.version(ada, factories.model(ada), message="Retrained")


@pytest.fixture
def ada(start):
    return fresh(start[0])


def signed_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def text(answer):
    assert answer.status_code == 200, answer
    return html.unescape(answer.content.decode())


def test_a_like_is_a_button_for_users_and_a_count_for_guests(ada, bob, graphs):
    assert not re.search(r"\blikes?\b", text(Client().get(PAGE)).partition("<main")[2])
    browser = signed_in(bob)
    shown = text(browser.post(ACT, {"action": "like"}, follow=True))
    assert 'value="unlike" aria-pressed="true"' in shown
    assert "1 like<" in text(Client().get(PAGE))
    assert 'value="like" aria-pressed="false"' in text(signed_in(ada).get(PAGE))
    shown = text(browser.post(ACT, {"action": "unlike"}, follow=True))
    assert 'value="like" aria-pressed="false"' in shown
    assert not Like.objects.exists()


def test_bad_actions_guests_and_strangers_change_nothing(ada, bob):
    assert signed_in(bob).post(ACT, {"action": "praise"}).status_code == 400
    assert signed_in(bob).get(ACT).status_code == 405
    assert Client().post(ACT, {"action": "like"}).status_code in (302, 401)
    assert Client().get("/watching").status_code == 302
    RegisteredModel.objects.update(visibility="private")
    assert signed_in(bob).post(ACT, {"action": "watch"}).status_code == 404
    assert not Like.objects.exists()
    assert not Watch.objects.exists()


def test_news_of_watched_models_are_listed_while_one_may_see_them(ada, start, bob):
    browser, version = signed_in(bob), fresh(start[1])
    assert "You watch no models yet" in text(browser.get("/watching"))
    browser.post(ACT, {"action": "watch"})
    assert "published: Retrained" in text(browser.get("/watching"))
    failed = proven.measure("reference", "failed", blames="runtime", reason="No.")
    proven.conformance(version, [proven.measure("determinism"), failed])
    timed.benchmark(version, 1.0)
    evaluated.stones(ada)
    evaluated.end(scheduling.request(ada, version=version, dataset="stones", split="test"))
    deprecate(ada, version, message="Old weights")
    deprecate(ada, version.model, message="Unmaintained")
    versions.yank(ada, version=version, reason="Wrong labels")
    shown = text(browser.get("/watching"))
    for words in (
        "1 of 2 checks passed", "1 benchmark run on",
        "measured accuracy 80\u202f% (95\u202f%: 70\u202f% to 90\u202f%) on stones, test",
        "yanked: Wrong labels", "deprecated: Old weights", "deprecated: Unmaintained",
    ):  # fmt: skip
        assert words in shown, words
    assert "ada/net" not in text(signed_in(ada).get("/watching"))
    RegisteredModel.objects.update(visibility="private")
    hidden = text(browser.get("/watching"))
    assert "ada/net" not in hidden
    assert "Wrong labels" not in hidden


def test_stopping_leads_back_to_the_list(ada, bob):
    browser = signed_in(bob)
    browser.post(ACT, {"action": "watch"})
    answer = browser.post(ACT, {"action": "unwatch", "page": "watching"})
    assert (answer.status_code, answer["Location"]) == (302, "/watching")
    assert not Watch.objects.exists()


def test_new_discussions_that_the_reader_sees_are_news(ada, bob):
    model = RegisteredModel.objects.get()
    signed_in(bob).post(ACT, {"action": "watch"})
    discussions.open_discussion(ada, model=model, title="It <diverges>", body="A")
    draft = factories.draft(ada, model)
    discussions.open_discussion(ada, model=model, title="Unreleased", body="A", version=draft)
    page = text(signed_in(bob).get("/watching"))
    assert "opened by ada: It <diverges>" in page
    assert 'href="/models/ada/net/discussions/1"' in page
    assert "Unreleased" not in page
