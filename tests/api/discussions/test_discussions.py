"""Discussions over the API: what readers see, who writes, limits, and what hidden things show."""

from __future__ import annotations

import json

import pytest

from registry.community.discussions import services
from registry.models import Comment, Discussion, Membership
from registry.models.discussions import MOST_COMMENTS
from registry.versions.services import registered_models
from tests import factories, proven
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
PLACE = "models/ada/net/discussions"
NEW = {"title": "It diverges", "body": "On **my** GPU."}


@rows
def start():
    """Ada's public model net with version 1 and her private one; Bob, anybody; Eve, a writer."""
    ada, bob, eve = (factories.user(name) for name in ("ada", "bob", "eve"))
    model = factories.model(ada)
    version = factories.version(ada, model)
    Membership.objects.create(namespace=model.namespace, user=eve, role="writer")
    factories.version(ada, factories.model(ada, "secret", visibility="private"))
    return ada, bob, eve, model, version


@pytest.fixture
def hub(start):
    return fresh(start)


def opened(api, who, place=PLACE, **more):
    answer = api(who).post(place, NEW | more)
    assert answer.status_code == 201, answer.content
    return answer.json()


def numbers(api, query="", who=None):
    answer = api(who).get(f"{PLACE}{query}")
    assert answer.status_code == 200, answer.content
    return [one["number"] for one in answer.json()["items"]]


def problem(answer, status, *words):
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    for word in words:
        assert word in answer.json()["detail"], answer.json()["detail"]


def test_a_discussion_is_opened_read_and_answered(api, hub, settings):
    ada, bob, _, _, version = hub
    proven.conformance(version, [proven.measure("bundled")])
    result = version.variants.first().conformance_results.first()
    answer = api(bob).post(
        PLACE, NEW | {"version": 1, "evidence": f"conformance/{result.pk}", "node": "/conv1/Conv"}
    )
    assert answer.status_code == 201, answer.content
    assert answer["Location"].endswith(f"/api/v1/{PLACE}/1")
    assert api(ada).post(f"{PLACE}/1/comments", {"body": "Which driver?"}).status_code == 201
    read = api().get(f"{PLACE}/1").json()
    page = f"{settings.HUB_PUBLIC_URL}/models/ada/net"
    assert read["title"] == "It diverges"
    assert (read["status"], read["author"], read["version"]) == ("open", "bob", 1)
    assert (read["node"], read["comment_count"]) == ("/conv1/Conv", 2)
    assert read["evidence"] == {
        "kind": "conformance", "id": result.pk, "url": f"{page}/v/1/conformance/{result.pk}",
    }  # fmt: skip
    assert "Bundled: Passed on ONNX Runtime" in read["evidence_title"]
    assert read["url"] == f"{page}/discussions/1"
    assert [(one["number"], one["author"], one["body"]) for one in read["comments"]] == [
        (1, "bob", "On **my** GPU."), (2, "ada", "Which driver?"),
    ]  # fmt: skip
    unchanged = api().get(f"{PLACE}/1", If_None_Match=api().get(f"{PLACE}/1")["ETag"])
    assert unchanged.status_code == 304


def test_lists_are_narrowed_and_come_in_pages(api, hub):
    ada, bob, *_ = hub
    for who, more in ((bob, {"version": 1}), (ada, {}), (bob, {})):
        opened(api, who, **more)
    assert api(bob).patch(f"{PLACE}/3", {"status": "closed"}).json()["closed_by"] == "bob"
    assert numbers(api) == [3, 2, 1]
    assert numbers(api, "?status=open") == [2, 1]
    assert numbers(api, "?status=closed") == [3]
    assert numbers(api, "?version=1") == [1]
    assert numbers(api, "?author=bob&status=open") == [1]
    first = api().get(f"{PLACE}?limit=2").json()
    following = first["next"].partition("/api/v1/")[2]
    assert [one["number"] for one in api().get(following).json()["items"]] == [1]
    for wrong in ("status=resolved", "version=0", "limit=0", "cursor=x", "reader=bob"):
        problem(api().get(f"{PLACE}?{wrong}"), 400)


def test_comments_come_in_pages_in_their_order(api, hub):
    _, bob, *_ = hub
    opened(api, bob)
    for number in range(4):
        api(bob).post(f"{PLACE}/1/comments", {"body": f"{number}"})
    place, numbers = f"{PLACE}/1/comments?limit=2", []
    while place:
        answer = api().get(place).json()
        numbers += [one["number"] for one in answer["items"]]
        place = (answer["next"] or "").partition("/api/v1/")[2]
    assert numbers == [1, 2, 3, 4, 5]
    problem(api().get(f"{PLACE}/1/comments?cursor=-1"), 400)


def test_authors_edit_and_writers_close(api, hub):
    _, bob, eve, *_ = hub
    opened(api, bob)
    for who, status in ((None, 401), (eve, 403)):
        problem(api(who).patch(f"{PLACE}/1", {"title": "Other"}), status)
        problem(api(who).patch(f"{PLACE}/1/comments/1", {"body": "Other"}), status)
    kim = factories.user("kim")
    problem(api(kim).patch(f"{PLACE}/1", {"status": "closed"}), 403, "role writer in ada")
    # Both changes, or none.
    problem(api(eve).patch(f"{PLACE}/1", {"title": "Other", "status": "closed"}), 403)
    assert api().get(f"{PLACE}/1").json()["status"] == "open"
    edited = api(bob).patch(f"{PLACE}/1", {"title": "On H100", "status": "closed"}).json()
    assert (edited["title"], edited["status"], edited["edited_at"] is None) == (
        "On H100", "closed", False,
    )  # fmt: skip
    assert api(eve).patch(f"{PLACE}/1", {"status": "open"}).json()["closed_at"] is None
    comment = api(bob).patch(f"{PLACE}/1/comments/1", {"body": "On sm_90."}).json()
    assert (comment["body"], comment["edited_at"] is None) == ("On sm_90.", False)
    problem(api(bob).patch(f"{PLACE}/1", {"author": "eve"}), 400, "Unknown fields")
    problem(api(bob).patch(f"{PLACE}/1", {"status": "solved"}), 400)
    problem(api(bob).patch(f"{PLACE}/2", {"title": "A"}), 404)
    problem(api(bob).patch(f"{PLACE}/1/comments/2", {"body": "A"}), 404)


def test_the_text_of_a_hidden_comment_is_for_writers_alone(api, hub):
    ada, bob, eve, *_ = hub
    opened(api, bob)
    for who, status in ((None, 401), (bob, 403)):
        problem(api(who).post(f"{PLACE}/1/comments/1/hide", {"reason": "spam"}), status)
        problem(api(who).post(f"{PLACE}/1/comments/1/unhide"), status)
    hidden = api(eve).post(f"{PLACE}/1/comments/1/hide", {"reason": "Advertising"}).json()
    assert (hidden["body"], hidden["hidden_by"]) == ("On **my** GPU.", "eve")
    for who, body in ((None, None), (bob, None), (ada, NEW["body"]), (eve, NEW["body"])):
        for place in (f"{PLACE}/1", f"{PLACE}/1/comments"):
            answer = api(who).get(place)
            comments = answer.json().get("comments") or answer.json()["items"]
            assert (comments[0]["body"], comments[0]["hidden_reason"]) == (body, "Advertising")
            if body is None:
                assert "GPU" not in answer.content.decode()
    problem(api(bob).patch(f"{PLACE}/1/comments/1", {"body": "A"}), 409, "hidden")
    assert api(ada).post(f"{PLACE}/1/comments/1/unhide").json()["hidden_at"] is None
    assert api().get(f"{PLACE}/1").json()["comments"][0]["body"] == NEW["body"]


def test_nobody_learns_of_discussions_that_they_do_not_see(api, hub):
    ada, bob, eve, model, _ = hub
    draft = factories.draft(ada, model)
    opened(api, ada, version=draft.number, title="Unreleased")
    opened(api, bob)
    secret = "models/ada/secret/discussions"
    opened(api, ada, secret)
    for who in (None, bob):
        assert numbers(api, who=who) == [2]
        assert numbers(api, f"?version={draft.number}", who=who) == []
        assert "Unreleased" not in json.dumps(api(who).get(PLACE).json())
        for call in (
            lambda who=who: api(who).get(f"{PLACE}/1"),
            lambda who=who: api(who).get(f"{PLACE}/1/comments"),
            lambda who=who: api(who).post(f"{PLACE}/1/comments", {"body": "A"}),
            lambda who=who: api(who).patch(f"{PLACE}/1", {"status": "closed"}),
            lambda who=who: api(who).get(secret),
            lambda who=who: api(who).get(f"{secret}/1"),
            lambda who=who: api(who).post(secret, NEW),
            lambda who=who: api(who).post(PLACE, NEW | {"version": draft.number}),
        ):
            assert call().status_code == 404
        # What is not there and what is not seen answer alike.
        unseen, missing = api(who).get(f"{PLACE}/1").json(), api(who).get(f"{PLACE}/9").json()
        assert unseen["detail"].replace("1", "9") == missing["detail"]
    assert numbers(api, who=eve) == [2, 1]


@pytest.mark.usefixtures("lists")
def test_discussions_move_with_their_model(api, hub):
    ada, bob, _, model, _ = hub
    opened(api, bob)
    lab = factories.namespace(ada)
    registered_models.move(ada, model=model, namespace=lab, name="net")
    answer = api().get(f"{PLACE}/1")
    assert answer.status_code in (301, 307, 308)
    assert answer["Location"].endswith("/api/v1/models/lab/net/discussions/1")
    assert api().get("models/lab/net/discussions/1").json()["author"] == "bob"
    registered_models.delete(ada, model=model)
    assert api(ada).get("models/lab/net/discussions/1").status_code == 410


def test_refusals_name_their_cause_and_cure(api, hub, settings, monkeypatch):
    _, bob, *_ = hub
    problem(api().post(PLACE, NEW), 401, "Sign in")
    for wrong, word in (
        ({"title": ""}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"body": "x" * 20_001}, "body"),
        ({"body": "  "}, "body"),
        ({"evidence": "rumour/1"}, "version"),
        ({"version": 1, "evidence": "rumour/1"}, "Valid kinds"),
        ({"version": 1, "evidence": "conformance"}, "evidence"),
        ({"node": "/conv1"}, "version"),
        ({"version": 0}, "version"),
        ({"colour": "red"}, "Unknown fields"),
    ):
        answer = api(bob).post(PLACE, NEW | wrong)
        assert answer.status_code == 400, answer.content
        assert word in json.dumps(answer.json())
    problem(api(bob).post(PLACE, NEW | {"version": 9}), 404)
    problem(api(bob).post(PLACE, NEW | {"version": 1, "evidence": "conformance/9"}), 404)
    monkeypatch.setattr(services, "MOST_OPEN", 1)
    opened(api, bob)
    problem(api(bob).post(PLACE, NEW), 409, "open discussions of ada/net", "Close one")
    Discussion.objects.update(comment_count=MOST_COMMENTS)
    problem(api(bob).post(f"{PLACE}/1/comments", {"body": "A"}), 409, "1,000", "Open another")
    settings.HUB_LIMITS_COMMENTS_RATE = "1/hour"
    Discussion.objects.update(comment_count=1)
    assert api(bob).post(f"{PLACE}/1/comments", {"body": "A"}).status_code == 201
    refused = api(bob).post(f"{PLACE}/1/comments", {"body": "A"})
    problem(refused, 429, "1/hour", "Try again")
    assert int(refused["Retry-After"]) >= 1
    assert Comment.objects.count() == 2


def test_queries_do_not_grow_with_discussions_and_comments(api, hub, django_assert_max_num_queries):
    ada, bob, *_ = hub
    opened(api, bob, version=1)
    for place in (PLACE, f"{PLACE}/1", f"{PLACE}/1/comments"):
        with django_assert_max_num_queries(6):
            api().get(place)
    for who in (ada, bob):
        opened(api, who, version=1)
        api(who).post(f"{PLACE}/1/comments", {"body": "A"})
    for place in (PLACE, f"{PLACE}/1", f"{PLACE}/1/comments"):
        with django_assert_max_num_queries(6):
            api().get(place)
