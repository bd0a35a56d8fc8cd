"""The pages of discussions: what readers see, forms without scripts, hostile texts, the feed."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from registry.community.discussions import selectors, services
from registry.models import Comment, Discussion, Membership
from runners.evaluations import scheduling
from tests import evaluated, factories, proven, timed
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
PLACE = "/models/ada/net/discussions"
HOSTILE = """# Title <script>alert(1)</script>

<img src="https://tracker.example/pixel.png" onerror="alert(2)"> ![spy](https://tracker.example/2.png)
<a href="javascript:alert(3)">click</a> <iframe src="https://elsewhere.example"></iframe>
<form action="/logout"><button>Go</button></form>

[in](model.onnx) **bold**

| a | b |
|---|---|
| 1 | 2 |
"""


@rows
def start():
    """Ada's public model net with version 1; Bob, anybody; Eve, a writer of Ada's namespace."""
    ada, bob, eve = (factories.user(name) for name in ("ada", "bob", "eve"))
    model = factories.model(ada)
    version = factories.version(ada, model)
    Membership.objects.create(namespace=model.namespace, user=eve, role="writer")
    return ada, bob, eve, model, version


@pytest.fixture
def hub(start):
    return fresh(start)


def signed_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def text(answer):
    assert answer.status_code == 200, answer
    return html.unescape(answer.content.decode())


def begin(actor, model, title="It <diverges>", body="On my GPU.", **more):
    return services.open_discussion(actor, model=model, title=title, body=body, **more)


def titles(page):
    return re.findall(r'discussions/\d+"><b>(.*?)</b>', page)


def test_a_discussion_is_opened_in_a_form_and_shown_with_its_answers(hub, graphs):
    ada, bob, *_ = hub
    browser = signed_in(bob)
    form = text(browser.get(f"{PLACE}/new?version=1&node=/conv1/Conv"))
    assert 'value="/conv1/Conv"' in form
    fields = {"title": "It <diverges>", "body": "On **my** GPU.", "version": "1", "node": ""}
    opened = browser.post(f"{PLACE}/new", fields)
    assert (opened.status_code, opened["Location"]) == (302, f"{PLACE}/1")
    commented = signed_in(ada).post(f"{PLACE}/1/comment", {"body": "Which *driver*?"})
    assert commented["Location"] == f"{PLACE}/1#comment-2"
    raw = Client().get(f"{PLACE}/1").content.decode()
    assert "It &lt;diverges&gt;" in raw
    assert "It <diverges>" not in raw
    assert "<strong>my</strong>" in raw
    assert "<em>driver</em>" in raw
    assert "<textarea" not in raw
    assert 'href="/models/ada/net/v/1"' in raw
    assert "Sign in</a> to comment" in raw


def test_the_list_has_open_ones_first_and_comes_in_pages(hub, graphs, monkeypatch):
    from frontend.pages.community.discussions import views

    _, bob, _, model, version = hub
    monkeypatch.setattr(views, "PAGE", 2)
    assert "No open discussions" in text(Client().get(PLACE))
    for title, about in (("One", version), ("Two", None), ("Three", None), ("Four", None)):
        begin(bob, model, title, version=about)
    services.set_status(bob, discussion=Discussion.objects.get(number=4), status="closed")
    page = text(Client().get(PLACE))
    assert titles(page) == ["Three", "Two"]
    following = re.search(r'rel="next" href="(.*?)"', page)[1]
    assert titles(text(Client().get(following))) == ["One"]
    assert titles(text(Client().get(f"{PLACE}?status=closed"))) == ["Four"]
    assert titles(text(Client().get(f"{PLACE}?status=all"))) == ["Four", "Three"]
    about = text(Client().get(f"{PLACE}?version=1"))
    assert titles(about) == ["One"]
    assert "about version 1" in about
    assert f'href="{PLACE}/new?version=1"' in about
    assert Client().get(f"{PLACE}?status=solved").status_code == 400


def test_a_model_without_versions_has_discussions_too(hub, graphs):
    ada, *_ = hub
    empty = factories.model(ada, "empty")
    begin(ada, empty, "Soon")
    place = "/models/ada/empty/discussions"
    assert titles(text(signed_in(ada).get(place))) == ["Soon"]
    assert Client().get(place).status_code == 404
    assert Client().get(f"{place}/1").status_code == 404
    assert Client().get(f"{place}.atom").status_code == 404


def test_pages_of_a_model_count_open_discussions_that_their_reader_sees(hub, graphs):
    ada, bob, _, model, version = hub
    draft = factories.draft(ada, model)
    begin(bob, model, version=version)
    begin(bob, model)
    begin(ada, model, "Unreleased", version=draft)
    closed = begin(bob, model, version=version)
    services.set_status(bob, discussion=closed, status="closed")
    page = text(Client().get("/models/ada/net"))
    assert re.search(r"Discussions\s*<span class=\"count\">2</span>", page)
    assert re.search(r"Discussions of this version</dt><dd><a[^>]*>1 open</a>", page)
    own = text(signed_in(ada).get("/models/ada/net"))
    assert re.search(r"Discussions\s*<span class=\"count\">3</span>", own)
    assert "Unreleased" not in text(Client().get(f"{PLACE}?status=all"))
    assert "Unreleased" in text(signed_in(ada).get(PLACE))
    for answer in (Client().get(f"{PLACE}/3"), signed_in(bob).get(f"{PLACE}/3")):
        assert answer.status_code == 404
    assert signed_in(bob).post(f"{PLACE}/3/comment", {"body": "A"}).status_code == 404


def test_hostile_markdown_runs_nothing_and_loads_nothing(hub):
    _, bob, _, model, version = hub
    discussion = begin(bob, model, body=HOSTILE, version=version)
    services.comment(bob, discussion=discussion, body=HOSTILE)
    raw = Client().get(f"{PLACE}/1").content.decode()
    shown = raw[raw.index('id="comment-1"') :]
    for bad in ("<script", "onerror", "javascript:", "<iframe", "<img", 'action="/logout"'):
        assert bad not in shown, bad
    assert "picture on tracker.example" in shown
    assert 'href="/models/ada/net/v/1/files/model.onnx"' in shown
    ids = re.findall(r'id="([^"]+)"', raw)
    assert len(ids) == len(set(ids))
    assert 'aria-label="Table 1 of comment 2"' in shown


def test_texts_are_edited_by_their_authors_alone_and_say_so(hub):
    ada, bob, eve, model, _ = hub
    begin(bob, model)
    for place in (f"{PLACE}/1/edit", f"{PLACE}/1/comments/1/edit"):
        assert Client().get(place).status_code == 302
        for other in (ada, eve):
            assert signed_in(other).get(place).status_code == 403
            assert signed_in(other).post(place, {"title": "A", "body": "A"}).status_code == 403
    browser = signed_in(bob)
    assert "On my GPU." in text(browser.get(f"{PLACE}/1/comments/1/edit"))
    browser.post(f"{PLACE}/1/edit", {"title": "On H100"})
    edited = browser.post(f"{PLACE}/1/comments/1/edit", {"body": "On sm_90."})
    assert edited["Location"] == f"{PLACE}/1#comment-1"
    page = text(Client().get(f"{PLACE}/1"))
    assert "On H100" in page
    assert "title edited" in page
    assert ", edited <time" in page


def test_writers_close_hide_and_show_and_readers_do_not_see_hidden_texts(hub):
    ada, bob, eve, model, _ = hub
    discussion = begin(bob, model, body="Buy my watches")
    act = f"{PLACE}/1/act"
    kim = factories.user("kim")
    for action in ("close", "hide"):
        refused = signed_in(kim).post(act, {"action": action, "comment": "1"})
        assert refused.status_code == 403
    assert signed_in(bob).post(act, {"action": "hide", "comment": "1"}).status_code == 403
    hiding = {"action": "hide", "comment": "1", "reason": "Advertising"}
    assert signed_in(eve).post(act, hiding)["Location"] == f"{PLACE}/1#comment-1"
    for reader in (Client(), signed_in(bob), signed_in(kim)):
        page = text(reader.get(f"{PLACE}/1"))
        assert "watches" not in page
        assert "Advertising" in page
    for writer in (ada, eve):
        assert "Buy my watches" in text(signed_in(writer).get(f"{PLACE}/1"))
    assert signed_in(bob).get(f"{PLACE}/1/comments/1/edit").status_code == 409
    signed_in(ada).post(act, {"action": "unhide", "comment": "1"})
    assert "Buy my watches" in text(Client().get(f"{PLACE}/1"))
    signed_in(bob).post(act, {"action": "close"})
    discussion.refresh_from_db()
    assert (discussion.status, discussion.closed_by) == ("closed", bob)
    signed_in(eve).post(act, {"action": "reopen"})
    discussion.refresh_from_db()
    assert discussion.is_open
    assert signed_in(eve).post(act, {"action": "praise"}).status_code == 400


def test_forms_need_their_token_and_a_signed_in_reader(hub):
    _, bob, _, model, _ = hub
    begin(bob, model)
    places = [f"{PLACE}/{end}" for end in (
        "new", "1/comment", "1/edit", "1/act", "1/comments/1/edit",
    )]  # fmt: skip
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(bob)
    fields = {"title": "A", "body": "A", "action": "close"}
    for place in places:
        assert strict.post(place, fields).status_code == 403, place
        answer = Client().post(place, fields)
        assert answer.status_code == 302, place
        assert answer["Location"].startswith("/login?next=")
    assert Discussion.objects.get().is_open
    assert Comment.objects.get().body == "On my GPU."


def test_a_refused_text_stays_in_its_form(hub, monkeypatch):
    _, bob, _, model, _ = hub
    browser = signed_in(bob)
    monkeypatch.setattr(services, "MOST_OPEN", 1)
    begin(bob, model)
    fields = {"title": "Another", "body": "My long text", "version": "", "node": ""}
    refused = browser.post(f"{PLACE}/new", fields)
    assert refused.status_code == 422
    page = html.unescape(refused.content.decode())
    assert "Close one of them" in page
    assert "My long text" in page
    missing = browser.post(f"{PLACE}/new", fields | {"version": "9"})
    assert missing.status_code == 422
    Discussion.objects.update(comment_count=1_000)
    full = browser.post(f"{PLACE}/1/comment", {"body": "My long text"})
    assert full.status_code == 422
    assert "at most 1,000 comments" in html.unescape(full.content.decode())
    assert "My long text" in full.content.decode()
    assert browser.post(f"{PLACE}/1/comment", {"body": ""}).status_code == 422


def test_results_lead_to_a_form_about_them_and_to_their_discussions(hub, graphs):
    _, bob, _, _, version = hub
    measured = timed.benchmark(version, 1.0)
    proven.conformance(version, [proven.measure("bundled")])
    result = version.variants.first().conformance_results.first()
    for kind, place in (
        (f"benchmark/{measured.pk}", f"/models/ada/net/v/1/benchmarks/{measured.pk}"),
        (f"conformance/{result.pk}", f"/models/ada/net/v/1/conformance/{result.pk}"),
    ):
        page = text(Client().get(place))
        link = re.search(r'href="(/models/ada/net/discussions/new\?[^"]+)">Discuss this', page)[1]
        assert kind.replace("/", "%2F") in link
        browser = signed_in(bob)
        form = text(browser.get(link))
        assert "About the result" in form
        assert f'value="{kind}"' in form
        fields = {"title": kind, "body": "A", "version": "1", "node": "", "evidence": kind}
        opened = browser.post(f"{PLACE}/new", fields)["Location"]
        assert f'href="{place}"' in text(Client().get(opened))
        assert kind in text(Client().get(place))
    number = Discussion.objects.filter(evidence_kind="benchmark").get().number
    measured.delete()
    assert "no longer stored" in text(Client().get(f"{PLACE}/{number}"))
    assert "About the result" not in text(signed_in(bob).get(f"{PLACE}/new?evidence=x/1&version=1"))


def test_a_measured_accuracy_leads_to_a_form_and_to_its_discussions(hub, graphs):
    ada, bob, _, model, version = hub
    evaluated.stones(ada)
    evaluated.end(scheduling.request(ada, version=version, dataset="stones", split="test"))
    pk = version.variants.get().evaluations.get().pk
    place = f"{PLACE}/new?version=1&evidence=evaluation/{pk}"
    assert place in text(Client().get("/models/ada/net"))
    assert "accuracy 0.8 on stones, test" in text(signed_in(bob).get(place))
    begin(bob, model, version=version, result=("evaluation", pk))
    assert re.search(rf'href="{PLACE}/1">#1<', text(Client().get("/models/ada/net")))
    assert 'href="/models/ada/net/v/1#accuracy"' in text(Client().get(f"{PLACE}/1"))


def test_comments_come_in_pages(hub, monkeypatch):
    from frontend.pages.community.discussions import views

    _, bob, _, model, _ = hub
    monkeypatch.setattr(views, "COMMENTS", 2)
    discussion = begin(bob, model)
    for number in (2, 3):
        services.comment(bob, discussion=discussion, body=f"Comment {number}")
    first = text(Client().get(f"{PLACE}/1"))
    assert "Comment 3" not in first
    second = text(Client().get(re.search(r'rel="next" href="(.*?)"', first)[1]))
    assert "Comment 3" in second
    assert "On my GPU." not in second
    added = signed_in(bob).post(f"{PLACE}/1/comment", {"body": "Fourth"})
    assert added["Location"] == f"{PLACE}/1?after=2#comment-4"


def test_a_page_renders_long_comments_for_a_while_and_says_so(hub, monkeypatch):
    from frontend.pages.community.discussions import views

    _, bob, _, model, _ = hub
    discussion = begin(bob, model)
    services.comment(bob, discussion=discussion, body="**Bold** <b>too</b>")
    assert "<strong>Bold</strong>" in text(Client().get(f"{PLACE}/1"))
    monkeypatch.setattr(views, "RENDER_SECONDS", 0.0)
    page = Client().get(f"{PLACE}/1").content.decode()
    assert "<pre>**Bold** &lt;b&gt;too&lt;/b&gt;</pre>" in page
    assert page.count("Reload the page to have more") == 2


def test_the_feed_has_what_everybody_sees(hub, settings):
    ada, bob, _, model, version = hub
    begin(bob, model, "First & <last>", version=version)
    begin(ada, model, "Unreleased", version=factories.draft(ada, model))
    answer = Client().get(f"{PLACE}.atom")
    assert answer["Content-Type"].startswith("application/atom+xml")
    feed = answer.content.decode()
    assert "First &amp; &lt;last&gt;" in feed
    assert f"{settings.HUB_PUBLIC_URL}{PLACE}/1" in feed
    assert "Unreleased" not in feed
    assert "On my GPU" not in feed


def test_queries_do_not_grow_with_discussions_and_comments(
    hub, graphs, django_assert_max_num_queries
):
    ada, bob, _, model, version = hub
    begin(bob, model, version=version)
    counts = {}
    for place in (PLACE, f"{PLACE}/1", f"{PLACE}.atom"):
        with django_assert_max_num_queries(25) as before:
            Client().get(place)
        counts[place] = len(before)
    for who in (ada, bob):
        begin(who, model, version=version)
        services.comment(who, discussion=selectors.discussion(who, model, 1), body="A")
    for place, count in counts.items():
        with django_assert_max_num_queries(count):
            Client().get(place)


def test_the_account_menu_leads_to_own_discussions(hub):
    ada, bob, _, model, _ = hub
    browser = Client()
    browser.force_login(bob)
    assert '<a href="/account/discussions">Discussions</a>' in browser.get("/help").content.decode()
    assert "No discussions yet" in browser.get("/account/discussions").content.decode()
    services.open_discussion(ada, model=model, title="Of Ada", body="One.")
    opened = services.open_discussion(ada, model=model, title="With Bob", body="Two.")
    services.comment(bob, discussion=opened, body="Three.")
    services.open_discussion(bob, model=model, title="Of Bob", body="Four.")
    page = browser.get("/account/discussions").content.decode()
    assert page.index("Of Bob") < page.index("With Bob")
    assert "Of Ada" not in page
    assert "ada/net #3 opened" in page
    model.visibility = "private"
    model.save(update_fields=["visibility"])
    assert "With Bob" not in browser.get("/account/discussions").content.decode()
    assert Client().get("/account/discussions").status_code == 302
