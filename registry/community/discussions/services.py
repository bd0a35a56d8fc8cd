"""Changing discussions. The caller has found them by a selector, so only what the actor sees.

Numbers are given under a lock: of the model's row for discussions, of the discussion's row for
comments. Events name what happened, and never what was written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hub.protocol import bidi, problems
from registry.community.discussions import selectors
from registry.core import events, rates
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.models import Comment, Discussion, DiscussionCount, RegisteredModel, User, Version
from registry.models.discussions import (
    LONGEST_COMMENT,
    LONGEST_NODE,
    LONGEST_REASON,
    LONGEST_TITLE,
    MOST_COMMENTS,
)
from registry.versions import evidence

# How many discussions of a model one user may have open.
MOST_OPEN = 20
_OF_DISCUSSION = ("model__namespace", "version", "author")
_OF_COMMENT = ("discussion__model__namespace", "author")


def open_discussion(
    actor: Actor,
    *,
    model: RegisteredModel,
    title: str,
    body: str,
    version: Version | None = None,
    result: tuple[str, int] | None = None,
    node: str = "",
) -> Discussion:
    """Open a discussion with its first comment; raises InvalidRequest, NotFound, Throttled.

    ``version``, itself seen by the actor, is what it is about, ``result`` the kind and the id of
    one of its results, ``node`` the name of a node. Raises StateConflict for too many open ones.
    """
    user = require_user(actor, "write", of=model)
    title, body, node = _title(title), _body(body), _node(node)
    if version is None and (result or node):
        raise problems.InvalidRequest.at(
            "/version", "Name the version whose result or node the discussion is about."
        )
    kind, pk = result or ("", None)
    if version is not None and pk is not None:
        evidence.of_kind(kind).describe(version, pk)
    with (
        _rate_limit(user, "discussions", settings.HUB_LIMITS_DISCUSSIONS_RATE),
        transaction.atomic(),
    ):
        model = lock(model, "namespace", deleted_at=None)
        if version is not None and not _is_kept(version):
            raise problems.NotFound(f"{version.ref} was deleted.")
        open_ones = Discussion.objects.filter(
            model=model, author=user, status=Discussion.Status.OPEN
        )
        if open_ones.count() >= MOST_OPEN:
            raise problems.StateConflict(
                f"You have {MOST_OPEN} open discussions of {model.ref}, the most that one user may "
                "have. Close one of them, or comment in it."
            )
        count, _ = DiscussionCount.objects.get_or_create(model=model)
        count.last_number += 1
        count.save(update_fields=["last_number"])
        discussion = Discussion.objects.create(
            model=model,
            number=count.last_number,
            title=title,
            author=user,
            version=version,
            evidence_kind=kind,
            evidence_id=pk,
            node=node,
        )
        _add(discussion, user, body)
        events.record(
            "discussion.opened", discussion, actor=user, model=model, number=discussion.number
        )
    return discussion


def comment(actor: Actor, *, discussion: Discussion, body: str) -> Comment:
    """Add a comment; raises InvalidRequest, StateConflict for a full discussion, Throttled."""
    user = require_user(actor, "write", of=discussion.model)
    body = _body(body)
    with _writing(user), transaction.atomic():
        discussion = lock(discussion, *_OF_DISCUSSION)
        comment = _add(discussion, user, body)
        events.record("discussion.commented", discussion, actor=user, model=discussion.model)
    return comment


def rename(actor: Actor, *, discussion: Discussion, title: str) -> Discussion:
    """Change the title of one's own discussion; raises NotAllowed, InvalidRequest, Throttled."""
    user = require_user(actor, "write", of=discussion.model)
    if not selectors.may_edit(actor, discussion):
        raise problems.NotAllowed("Only the author of a discussion can change its title.")
    title = _title(title)
    with _writing(user), transaction.atomic():
        discussion = lock(discussion, *_OF_DISCUSSION)
        if discussion.title != title:
            discussion.title, discussion.edited_at = title, timezone.now()
            discussion.save(update_fields=["title", "edited_at"])
            events.record("discussion.renamed", discussion, actor=user, model=discussion.model)
    return discussion


def set_status(actor: Actor, *, discussion: Discussion, status: str) -> Discussion:
    """Close or reopen a discussion, as its author or a writer of the namespace.

    Doing it again changes nothing. Raises NotAllowed, InvalidRequest, StateConflict, Throttled.
    """
    user = require_user(actor, "write", of=discussion.model)
    if not selectors.may_edit(actor, discussion):
        require(actor, "discussion.moderate", discussion.model)
    if status not in Discussion.Status.values:
        raise problems.InvalidRequest.at("/status", "A status is open or closed.")
    with _writing(user), transaction.atomic():
        discussion = lock(discussion, *_OF_DISCUSSION)
        if discussion.status == status:
            return discussion
        now = timezone.now()
        is_closed = status == Discussion.Status.CLOSED
        discussion.status, discussion.updated_at = status, now
        discussion.closed_at = now if is_closed else None
        discussion.closed_by = user if is_closed else None
        discussion.save(update_fields=["status", "closed_at", "closed_by", "updated_at"])
        verb = "closed" if is_closed else "reopened"
        events.record(f"discussion.{verb}", discussion, actor=user, model=discussion.model)
    return discussion


def edit_comment(actor: Actor, *, comment: Comment, body: str) -> Comment:
    """Change one's own comment; raises NotAllowed, StateConflict for a hidden one, Throttled."""
    discussion = comment.discussion
    user = require_user(actor, "write", of=discussion.model)
    if not selectors.may_edit(actor, comment):
        raise problems.NotAllowed("Only the author of a comment can change it.")
    body = _body(body)
    with _writing(user), transaction.atomic():
        comment = lock(comment, *_OF_COMMENT)
        if comment.hidden_at is not None:
            raise problems.StateConflict(
                "This comment is hidden and cannot be changed. Write a new one, or ask a member of "
                f"{discussion.model.namespace.slug} to show it again."
            )
        if comment.body != body:
            comment.body, comment.edited_at = body, timezone.now()
            comment.save(update_fields=["body", "edited_at"])
            events.record(
                "discussion.comment-edited",
                discussion,
                actor=user,
                comment=comment.number,
                model=discussion.model,
            )
    return comment


@transaction.atomic
def hide(actor: Actor, *, comment: Comment, reason: str = "") -> Comment:
    """Hide the body of a comment from all but moderators; raises NotAllowed, InvalidRequest."""
    user = require(actor, "discussion.moderate", comment.discussion.model)
    reason = " ".join(reason.split())
    if len(reason) > LONGEST_REASON or not _is_line(reason):
        raise problems.InvalidRequest.at(
            "/reason", f"A reason may have at most {LONGEST_REASON} characters. Shorten it."
        )
    comment = lock(comment, *_OF_COMMENT)
    if comment.hidden_at is None:
        comment.hidden_at = timezone.now()
    comment.hidden_by, comment.hidden_reason = user, reason
    comment.save(update_fields=["hidden_at", "hidden_by", "hidden_reason"])
    _moderated("comment-hidden", user, comment)
    return comment


@transaction.atomic
def unhide(actor: Actor, *, comment: Comment) -> Comment:
    """Show the body of a comment again; raises NotAllowed."""
    user = require(actor, "discussion.moderate", comment.discussion.model)
    comment = lock(comment, *_OF_COMMENT)
    if comment.hidden_at is not None:
        comment.hidden_at, comment.hidden_by, comment.hidden_reason = None, None, ""
        comment.save(update_fields=["hidden_at", "hidden_by", "hidden_reason"])
        _moderated("comment-shown", user, comment)
    return comment


def _moderated(verb: str, user: User, comment: Comment) -> None:
    discussion = comment.discussion
    events.record(
        f"discussion.{verb}", discussion, actor=user, model=discussion.model, comment=comment.number
    )


def _add(discussion: Discussion, user: User, body: str) -> Comment:
    """The next comment of a discussion, whose row is locked or new; raises StateConflict."""
    if discussion.comment_count >= MOST_COMMENTS:
        raise problems.StateConflict(
            f"A discussion has at most {MOST_COMMENTS:,} comments. Open another discussion, and "
            f"refer to discussion {discussion.number} in it."
        )
    discussion.comment_count += 1
    discussion.updated_at = timezone.now()
    discussion.save(update_fields=["comment_count", "updated_at"])
    return Comment.objects.create(
        discussion=discussion, number=discussion.comment_count, author=user, body=body
    )


def _is_kept(version: Version) -> bool:
    """Whether a version is still there; it stays until the transaction ends."""
    return Version.objects.select_for_update().filter(pk=version.pk).exists()


def _title(text: str) -> str:
    text = " ".join(text.split())
    bidi.expect_none("/title", text)
    if not 1 <= len(text) <= LONGEST_TITLE or not _is_line(text):
        raise problems.InvalidRequest.at(
            "/title", f"Give a title of 1 to {LONGEST_TITLE} characters, in one line."
        )
    return text


def _body(text: str) -> str:
    text = text.replace("\r\n", "\n").strip("\n").rstrip()
    if not 1 <= len(text) <= LONGEST_COMMENT or not _is_storable(text):
        raise problems.InvalidRequest.at(
            "/body", f"Write a comment of 1 to {LONGEST_COMMENT:,} characters."
        )
    return text


def _node(text: str) -> str:
    text = text.strip()
    bidi.expect_none("/node", text)
    if len(text) > LONGEST_NODE or not _is_line(text):
        raise problems.InvalidRequest.at(
            "/node", f"The name of a node may have at most {LONGEST_NODE} characters, in one line."
        )
    return text


def _is_line(text: str) -> bool:
    """Whether a text has no control characters."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)


def _is_storable(text: str) -> bool:
    """Whether the database can keep a text: PostgreSQL has no NUL, UTF-8 no lone surrogate."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


@contextmanager
def _writing(user: User) -> Iterator[None]:
    with _rate_limit(user, "comments", settings.HUB_LIMITS_COMMENTS_RATE):
        yield


@contextmanager
def _rate_limit(user: User, what: str, rate: str) -> Iterator[None]:
    """Count one writing of a user, unless it is refused; raises Throttled."""
    try:
        counters = rates.reserve([rates.Limit(f"{what}:{user.pk}", rates.Rate.parse(rate))])
    except rates.RateExceededError as error:
        written = "discussions" if what == "discussions" else "comments and changes"
        raise problems.Throttled(
            f"Too many {written} in a short time: one user may have {rate}. Try again in "
            f"{error.seconds} s.",
            retry_after=error.seconds,
        ) from error
    try:
        yield
    except BaseException:
        rates.release(counters)
        raise
