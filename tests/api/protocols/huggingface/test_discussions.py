"""Discussions through the Hub protocol, in the form that huggingface_hub reads."""

from __future__ import annotations

import pytest

from registry.community.discussions import services
from registry.models import Comment, Discussion, Membership
from registry.models.discussions import MOST_COMMENTS
from tests import factories
from tests.api.protocols.huggingface.conftest import refused

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
PLACE = "/api/models/ada/net/discussions"


@pytest.fixture
def hub(db):
    """Ada's public model net; Bob, anybody; Eve, a writer of Ada's namespace."""
    ada, bob, eve = (factories.user(name) for name in ("ada", "bob", "eve"))
    model = factories.model(ada)
    factories.version(ada, model)
    Membership.objects.create(namespace=model.namespace, user=eve, role="writer")
    return ada, bob, eve, model


def ok(answer):
    assert answer.status_code == 200, answer.content
    return answer.json()


def opened(api, who, title="It diverges"):
    fields = {"title": title, "description": "On my GPU.", "pullRequest": False}
    return ok(api(who).post(PLACE, fields))["num"]


def test_a_discussion_is_opened_read_and_listed(api, hub, settings):
    _, bob, *_ = hub
    number = opened(api, bob)
    page = ok(api().get(f"{PLACE}?p=0&status=open&type=discussion&author=bob"))
    assert (page["count"], page["start"]) == (1, 0)
    summary = page["discussions"][0]
    assert summary | {"createdAt": ""} == {
        "num": number, "title": "It diverges", "status": "open", "isPullRequest": False,
        "author": {"name": "bob"}, "createdAt": "", "numComments": 1,
        "repo": {"name": "ada/net", "type": "model"},
    }  # fmt: skip
    details = ok(api().get(f"{PLACE}/{number}?diff=1"))
    assert {key: details[key] for key in summary} == summary
    (event,) = details["events"]
    assert (event["type"], event["author"]) == ("comment", {"name": "bob"})
    assert event["data"]["latest"]["raw"] == "On my GPU."
    assert event["data"]["edited"] is event["data"]["hidden"] is False
    assert ok(api().get(f"{PLACE}?type=pull_request"))["discussions"] == []
    assert ok(api().get(f"{PLACE}?status=closed"))["count"] == 0
    assert ok(api().get(f"{PLACE}?p=7"))["discussions"] == []
    refused(api().get(f"{PLACE}?status=draft"), 400)
    page = api().get(f"/ada/net/discussions/{number}")
    assert page["Location"] == "/models/ada/net/discussions/1"


def test_a_list_has_every_discussion_once_in_its_pages(api, hub, monkeypatch):
    from registry.community import huggingface as discussions

    monkeypatch.setattr(discussions, "PAGE", 2)
    _, bob, *_ = hub
    for title in "abc":
        opened(api, bob, title)
    first, second = (ok(api().get(f"{PLACE}?p={page}")) for page in (0, 1))
    assert [one["title"] for one in first["discussions"] + second["discussions"]] == list("cba")
    assert (second["start"], second["count"]) == (2, 3)


def test_comments_titles_and_statuses_change(api, hub):
    _, bob, eve, _ = hub
    opened(api, bob)
    added = ok(api(eve).post(f"{PLACE}/1/comment", {"comment": "Which driver?"}))["newMessage"]
    assert added["data"]["latest"]["raw"] == "Which driver?"
    place = f"{PLACE}/1/comment/{added['id']}"
    edited = ok(api(eve).post(f"{place}/edit", {"content": "Which CUDA?"}))["updatedComment"]
    assert (edited["id"], edited["data"]["edited"]) == (added["id"], True)
    renamed = ok(api(bob).post(f"{PLACE}/1/title", {"title": "On H100"}))["newTitle"]
    assert renamed["data"] == {"from": "It diverges", "to": "On H100"}
    closing = {"status": "closed", "comment": "Solved"}
    closed = ok(api(eve).post(f"{PLACE}/1/status", closing))["newStatus"]
    assert (closed["data"], closed["author"]) == ({"status": "closed"}, {"name": "eve"})
    events = ok(api().get(f"{PLACE}/1"))["events"]
    assert [event["type"] for event in events] == ["comment"] * 3 + ["status-change"]
    assert events[2]["data"]["latest"]["raw"] == "Solved"
    reopened = ok(api(bob).post(f"{PLACE}/1/status", {"status": "open"}))["newStatus"]
    assert reopened["data"] == {"status": "open"}
    hidden = ok(api(eve).post(f"{place}/hide"))["updatedComment"]
    assert (hidden["data"]["hidden"], hidden["data"]["latest"]["raw"]) == (True, "")
    assert "CUDA" not in api().get(f"{PLACE}/1").content.decode()
    assert "CUDA" not in api(bob).get(f"{PLACE}/1").content.decode()


def test_who_may_not_is_refused_and_nothing_is_half_done(api, hub):
    ada, bob, eve, _ = hub
    opened(api, bob)
    kim = factories.user("kim")
    first = f"{PLACE}/1/comment/{1:024x}"
    refused(api().post(PLACE, {"title": "A", "description": "B"}), 401)
    refused(api(bob, scopes=["read"]).post(PLACE, {"title": "A", "description": "B"}), 403)
    refused(api(eve).post(f"{first}/edit", {"content": "A"}), 403)
    refused(api(bob).post(f"{first}/hide"), 403)
    refused(api(kim).post(f"{PLACE}/1/title", {"title": "A"}), 403)
    refused(api(kim).post(f"{PLACE}/1/status", {"status": "closed", "comment": "A"}), 403)
    assert Comment.objects.count() == 1
    for place in (
        "2",
        f"1/comment/{2:024x}/edit",
        "1/comment/zz/hide",
        f"1/comment/{'f' * 24}/hide",
    ):
        method = api(ada).get if place == "2" else api(ada).post
        refused(method(f"{PLACE}/{place}"), 404)
    refused(api(bob).post(PLACE, {"title": "", "description": "B"}), 400)
    refused(api(bob).post(PLACE, {"title": "A"}), 400)
    refused(api(bob).post(PLACE, {"title": 7, "description": "B"}), 400)
    Discussion.objects.update(comment_count=MOST_COMMENTS)
    refused(api(bob).post(f"{PLACE}/1/comment", {"comment": "A"}), 409)


def test_pull_requests_and_discussions_of_other_things_are_refused_in_words(api, hub):
    _, bob, *_ = hub
    fields = {"title": "A change", "description": "A", "pullRequest": True}
    answer = api(bob).post(PLACE, fields)
    refused(answer, 400)
    assert "no pull requests" in answer["X-Error-Message"]
    assert Discussion.objects.count() == 0
    refused(api(bob).post(f"{PLACE}/1/merge"), 400)
    for kind in ("datasets", "spaces"):
        answer = api(bob).get(f"/api/{kind}/ada/net/discussions")
        refused(answer, 404, "RepoNotFound")
        assert "models only" in answer["X-Error-Message"]


def test_hidden_models_and_drafts_tell_nothing(api, hub):
    ada, bob, _, model = hub
    draft = factories.draft(ada, model)
    services.open_discussion(ada, model=model, title="Unreleased", body="A", version=draft)
    assert ok(api(bob).get(PLACE))["count"] == 0
    assert ok(api(ada).get(PLACE))["count"] == 1
    refused(api(bob).get(f"{PLACE}/1"), 404)
    refused(api(bob).post(f"{PLACE}/1/comment", {"comment": "A"}), 404)
    model.visibility = "private"
    model.save()
    refused(api().get(PLACE), 401, "RepoNotFound")
    refused(api(bob).get(f"{PLACE}/1"), 404, "RepoNotFound")
    refused(api(bob).post(PLACE, {"title": "A", "description": "A"}), 404, "RepoNotFound")
