"""Discussions: who opens, changes and sees them, their limits, and what the database refuses."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from hub.protocol import problems
from registry.community.discussions import selectors, services
from registry.models import (
    AccessToken,
    Comment,
    Discussion,
    DiscussionCount,
    Event,
    Membership,
    RegisteredModel,
    Version,
)
from registry.models.discussions import (
    LONGEST_COMMENT,
    LONGEST_REASON,
    LONGEST_TITLE,
    MOST_COMMENTS,
)
from registry.versions.services import registered_models, versions
from tests import factories, proven, timed
from tests.shared import fresh, rows

pytestmark = [pytest.mark.capability("community"), pytest.mark.django_db]
GUEST = AnonymousUser()


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


def begin(actor, model, title="It diverges", **more):
    return services.open_discussion(actor, model=model, title=title, body="On my GPU.", **more)


def numbers(actor, model, **more):
    return [row.number for row in selectors.discussions(actor, model, **more)]


def narrow(user, *scopes, namespace=None):
    """The user as a token of these scopes signs in."""
    factories.token(user, scopes, namespace)
    user.access_token = AccessToken.objects.filter(user=user).latest("pk")
    return user


def test_a_discussion_opens_with_a_comment_and_others_answer(hub):
    ada, bob, _, model, version = hub
    discussion = begin(bob, model, "  It \n diverges  ", version=version, node="/conv1/Conv")
    assert (discussion.number, discussion.title) == (1, "It diverges")
    services.comment(ada, discussion=discussion, body="  indented\r\nWhich one?\n")
    comments = list(selectors.comments(discussion))
    assert [(one.number, one.author.username, one.body) for one in comments] == [
        (1, "bob", "On my GPU."), (2, "ada", "  indented\nWhich one?"),
    ]  # fmt: skip
    row = selectors.discussion(GUEST, model, 1)
    assert (row.comment_count, row.node, row.version) == (2, "/conv1/Conv", version)
    assert row.updated_at == comments[1].created_at or row.updated_at > discussion.created_at
    assert begin(ada, model).number == 2
    assert numbers(GUEST, model) == [2, 1]
    assert numbers(GUEST, model, version=1) == [1]
    assert numbers(GUEST, model, author="ADA") == [2]
    verbs = Event.objects.filter(verb__startswith="discussion.").order_by("pk")
    assert [event.verb for event in verbs] == [
        "discussion.opened", "discussion.commented", "discussion.opened",
    ]  # fmt: skip
    assert "GPU" not in str(list(verbs.values_list("data", flat=True)))


def test_guests_and_narrow_tokens_write_nothing(hub):
    ada, bob, _, model, _ = hub
    discussion = begin(ada, model)
    with pytest.raises(problems.NotAuthenticated):
        begin(GUEST, model)
    with pytest.raises(problems.NotAuthenticated):
        services.comment(GUEST, discussion=discussion, body="Hello")
    reading = narrow(bob, "read")
    elsewhere = narrow(factories.user("kim"), "write", namespace="kim")
    for actor in (reading, elsewhere):
        assert not selectors.may_write(actor, model)
        for change in (
            lambda actor=actor: begin(actor, model),
            lambda actor=actor: services.comment(actor, discussion=discussion, body="Hello"),
        ):
            with pytest.raises(problems.NotAllowed):
                change()
    assert Discussion.objects.count() == Comment.objects.count() == 1


def test_only_authors_change_words_and_authors_and_writers_close_and_reopen(hub):
    ada, bob, eve, model, _ = hub
    kim = factories.user("kim")
    discussion = begin(bob, model)
    comment = selectors.comment(discussion, 1)
    for actor in (ada, eve, kim, factories.admin()):
        with pytest.raises(problems.NotAllowed):
            services.rename(actor, discussion=discussion, title="Other")
        with pytest.raises(problems.NotAllowed):
            services.edit_comment(actor, comment=comment, body="Other")
    renamed = services.rename(bob, discussion=discussion, title="It diverges on sm_90")
    assert renamed.edited_at is not None
    assert services.edit_comment(bob, comment=comment, body="On H100.").edited_at is not None
    for actor in (GUEST, kim):
        with pytest.raises((problems.NotAllowed, problems.NotAuthenticated)):
            services.set_status(actor, discussion=discussion, status="closed")
    for actor in (bob, eve, ada, factories.User.objects.get(username="admin")):
        closed = services.set_status(actor, discussion=discussion, status="closed")
        assert (closed.status, closed.closed_by) == ("closed", actor)
        again = services.set_status(bob, discussion=closed, status="closed")
        assert again.closed_by == actor
        reopened = services.set_status(actor, discussion=discussion, status="open")
        assert (reopened.closed_at, reopened.closed_by) == (None, None)
    with pytest.raises(problems.InvalidRequest):
        services.set_status(bob, discussion=discussion, status="resolved")


def test_writers_hide_comments_and_their_authors_cannot_change_them_meanwhile(hub):
    ada, bob, eve, model, _ = hub
    comment = selectors.comment(begin(bob, model), 1)
    for actor in (bob, factories.user("kim")):
        with pytest.raises(problems.NotAllowed):
            services.hide(actor, comment=comment)
    hidden = services.hide(eve, comment=comment, reason=" spam\n ")
    assert (hidden.hidden_by, hidden.hidden_reason, hidden.body) == (eve, "spam", "On my GPU.")
    with pytest.raises(problems.StateConflict, match="hidden"):
        services.edit_comment(bob, comment=comment, body="Better")
    with pytest.raises(problems.NotAllowed):
        services.unhide(bob, comment=comment)
    shown = services.unhide(ada, comment=comment)
    assert (shown.hidden_at, shown.hidden_by, shown.hidden_reason) == (None, None, "")
    with pytest.raises(problems.InvalidRequest, match="300"):
        services.hide(ada, comment=comment, reason="x" * (LONGEST_REASON + 1))
    assert services.hide(factories.admin(), comment=comment).hidden_at is not None


def test_a_discussion_about_a_draft_is_for_those_who_see_the_draft(hub):
    ada, bob, eve, model, _ = hub
    draft = factories.draft(ada, model)
    begin(ada, model, "Secret", version=draft)
    begin(ada, model, "Open")
    for writer in (ada, eve, factories.admin()):
        assert numbers(writer, model) == [2, 1]
        assert selectors.open_count(writer, model) == 2
        assert selectors.open_count(writer, model, draft) == 1
    kim = factories.user("kim")
    Membership.objects.create(namespace=model.namespace, user=kim, role="reader")
    for reader in (GUEST, bob, kim, narrow(eve, "write", namespace="eve")):
        assert numbers(reader, model) == [2]
        assert numbers(reader, model, version=draft.number) == []
        assert list(Discussion.objects.visible_to(reader).values_list("number", flat=True)) == [2]
        with pytest.raises(problems.NotFound):
            selectors.discussion(reader, model, 1)
    assert selectors.open_count(GUEST, model) == 1
    assert selectors.open_count(kim, model, draft) == 0
    Version.objects.filter(pk=draft.pk).update(
        state="published", published_at=timezone.now(), manifest_sha256="0" * 64, commit_id="0" * 40
    )
    assert numbers(GUEST, model) == [2, 1]


def test_a_number_is_never_given_twice_even_after_its_draft_is_gone(hub):
    ada, bob, _, model, _ = hub
    draft = factories.draft(ada, model)
    begin(ada, model, version=draft)
    versions.delete_draft(ada, version=draft)
    assert Discussion.objects.count() == 0
    assert begin(bob, model).number == 2
    with pytest.raises(problems.NotFound, match="was deleted"):
        begin(ada, model, version=draft)
    with pytest.raises(IntegrityError), transaction.atomic():
        DiscussionCount.objects.update(last_number=1)


@pytest.mark.usefixtures("lists")
def test_discussions_follow_a_model_and_are_hidden_and_deleted_with_it(hub):
    ada, bob, _, model, _ = hub
    begin(bob, model)
    lab = factories.namespace(ada)
    moved = registered_models.move(ada, model=model, namespace=lab, name="better")
    row = selectors.discussion(GUEST, moved, 1)
    assert str(row) == "lab/better#1"
    registered_models.edit(ada, model=moved, visibility="private")
    assert list(Discussion.objects.visible_to(GUEST)) == []
    assert list(Discussion.objects.visible_to(bob)) == []
    assert list(Discussion.objects.visible_to(ada)) == [row]
    registered_models.delete(ada, model=moved)
    assert Discussion.objects.count() == Comment.objects.count() == 0
    with pytest.raises(problems.NotFound, match="was deleted"):
        begin(ada, moved)


def test_texts_have_bounds(hub):
    ada, _, _, model, version = hub
    for title in ("", "  \n", "x" * (LONGEST_TITLE + 1), "a\x00b", "a\x1bb", "a\u202eb", "a\ud800"):
        with pytest.raises(problems.InvalidRequest, match="title"):
            begin(ada, model, title)
    for body in ("", " \n ", "x" * (LONGEST_COMMENT + 1), "a\x00b", "a\ud800b"):
        with pytest.raises(problems.InvalidRequest, match="comment"):
            services.open_discussion(ada, model=model, title="A", body=body)
    for node in ("x" * 256, "a\nb"):
        with pytest.raises(problems.InvalidRequest, match="node"):
            begin(ada, model, version=version, node=node)
    with pytest.raises(problems.InvalidRequest, match="version"):
        begin(ada, model, node="/conv1/Conv")
    assert begin(ada, model, "\U0001f469\u200d\U0001f4bb asks").title.endswith("asks")
    begin(ada, model, "x" * LONGEST_TITLE, version=version, node="n" * 255)
    assert Discussion.objects.count() == 2


def test_a_discussion_is_about_a_result_of_its_version(hub):
    ada, bob, _, model, version = hub
    measured = timed.benchmark(version, 1.0)
    proven.conformance(version, [proven.measure("bundled")])
    result = version.variants.first().conformance_results.first()
    first = begin(bob, model, version=version, result=("benchmark", measured.pk))
    second = begin(bob, model, version=version, result=("conformance", result.pk))
    assert "1 ms on ONNX Runtime" in selectors.evidence_title(first)
    assert "Bundled: Passed on ONNX Runtime" in selectors.evidence_title(second)
    assert (
        selectors.evidence_path(first)
        == f"/models/{version.model.ref}/v/1/benchmarks/{measured.pk}"
    )
    noisy = timed.benchmark(version, 3.0, spread=0.3)
    third = begin(bob, model, version=version, result=("benchmark", noisy.pk))
    assert "2.69 ms (noisy) on ONNX Runtime" in selectors.evidence_title(third)
    assert selectors.about(GUEST, version, "conformance", [result.pk]) == {result.pk: [second]}
    assert selectors.about(GUEST, version, "benchmark", [result.pk + 1_000]) == {}
    for kind in ("benchmark", "conformance", "evaluation"):
        with pytest.raises(problems.NotFound):
            begin(bob, model, version=version, result=(kind, 999_999))
    with pytest.raises(problems.InvalidRequest, match="benchmark, conformance, evaluation"):
        begin(bob, model, version=version, result=("rumour", 1))
    with pytest.raises(problems.InvalidRequest, match="Name the version"):
        begin(bob, model, result=("benchmark", measured.pk))
    other = factories.version(ada, factories.model(ada, "other"))
    with pytest.raises(problems.NotFound):
        begin(bob, other.model, version=other, result=("benchmark", measured.pk))
    measured.delete()
    assert selectors.evidence_title(selectors.discussion(GUEST, model, first.number)) == ""


def test_one_user_may_have_only_so_many_open_discussions_of_a_model(hub, monkeypatch):
    ada, bob, _, model, _ = hub
    monkeypatch.setattr(services, "MOST_OPEN", 2)
    first, _ = begin(bob, model), begin(bob, model)
    with pytest.raises(problems.StateConflict, match="Close one of them"):
        begin(bob, model)
    begin(ada, model)
    begin(bob, factories.version(ada, factories.model(ada, "other")).model)
    services.set_status(bob, discussion=first, status="closed")
    assert begin(bob, model).number == 4


def test_a_discussion_is_full_at_a_thousand_comments(hub):
    _, bob, _, model, _ = hub
    discussion = begin(bob, model)
    Discussion.objects.update(comment_count=MOST_COMMENTS)
    with pytest.raises(problems.StateConflict, match=r"at most 1,000 comments.*discussion 1"):
        services.comment(bob, discussion=discussion, body="One more")
    for wrong in ({"comment_count": MOST_COMMENTS + 1},):
        with pytest.raises(IntegrityError), transaction.atomic():
            Discussion.objects.update(**wrong)


def test_a_user_opens_and_writes_at_a_limited_rate_and_refusals_do_not_count(hub, settings):
    ada, bob, _, model, _ = hub
    settings.HUB_LIMITS_DISCUSSIONS_RATE = "2/hour"
    settings.HUB_LIMITS_COMMENTS_RATE = "3/hour"
    for _ in range(3):
        with pytest.raises(problems.InvalidRequest):
            begin(bob, model, "")
    first = begin(bob, model)
    begin(bob, model)
    with pytest.raises(problems.Throttled, match="2/hour") as refused:
        begin(bob, model)
    assert refused.value.extensions["retry_after"] >= 1
    begin(ada, model)
    services.comment(bob, discussion=first, body="One")
    services.edit_comment(bob, comment=selectors.comment(first, 1), body="Two")
    services.set_status(bob, discussion=first, status="closed")
    for change in (
        lambda: services.comment(bob, discussion=first, body="Three"),
        lambda: services.rename(bob, discussion=first, title="Other"),
        lambda: services.set_status(bob, discussion=first, status="open"),
    ):
        with pytest.raises(problems.Throttled):
            change()


def test_the_database_refuses_what_no_service_writes(hub):
    ada, bob, _, model, version = hub
    discussion = begin(bob, model, version=version)
    comment = selectors.comment(discussion, 1)
    other = factories.version(ada, factories.model(ada, "other"))
    fields = {"model": model, "number": 9, "title": "A", "author": bob}
    for wrong in (
        {"number": 1},
        {"number": 0},
        {"title": ""},
        {"title": "a\nb"},
        {"title": "x" * 201},
        {"status": "resolved"},
        {"status": "closed"},
        {"closed_at": timezone.now()},
        {"evidence_kind": "benchmark", "evidence_id": 1},
        {"evidence_kind": "benchmark", "version": version},
        {"evidence_id": 1, "version": version},
        {"evidence_kind": "rumour", "evidence_id": 1, "version": version},
        {"node": "/conv1"},
        {"version": other},
    ):
        with pytest.raises((IntegrityError, DataError)), transaction.atomic():
            Discussion.objects.create(**fields | wrong)
    for kept in (
        {"number": 7}, {"author": ada}, {"version": None}, {"version": other},
        {"model": other.model}, {"node": "n"}, {"evidence_kind": "benchmark", "evidence_id": 1},
    ):  # fmt: skip
        with pytest.raises(IntegrityError), transaction.atomic():
            Discussion.objects.filter(pk=discussion.pk).update(**kept)
    for wrong in (
        {"number": 1}, {"number": 0}, {"number": 1_001}, {"body": ""},
        {"body": "x" * (LONGEST_COMMENT + 1)}, {"hidden_at": timezone.now()},
        {"hidden_reason": "spam"},
    ):  # fmt: skip
        with pytest.raises(IntegrityError), transaction.atomic():
            Comment.objects.create(
                **{"discussion": discussion, "number": 2, "author": bob, "body": "A"} | wrong
            )
    for kept in ({"number": 5}, {"author": ada}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Comment.objects.filter(pk=comment.pk).update(**kept)


def test_the_words_of_a_closed_account_stay(hub):
    from registry.people.services import users

    _, bob, _, model, _ = hub
    begin(bob, model)
    users.set_active(factories.admin(), user=bob, active=False)
    assert selectors.discussion(GUEST, model, 1).author == bob
    assert RegisteredModel.objects.get(pk=model.pk).discussions.count() == 1
