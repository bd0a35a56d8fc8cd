"""Discussions as clients of the Hub protocol read and write them. There are no pull requests.

An event of a discussion is a comment, the closing, or an answer to a change. The id of a comment is
its number as 24 hexadecimal digits.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.html import format_html
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems
from registry.api.parameters import accepts
from registry.community.discussions import selectors, services
from registry.models import Comment, Discussion, RegisteredModel, User
from registry.protocols.huggingface import addresses, errors, shapes, writing
from registry.protocols.huggingface.views import HubView

NO_PULL_REQUESTS = (
    "This hub has no pull requests. To propose a change, commit to a branch: create_branch, then "
    "upload with revision=<branch>. Describe it in a discussion."
)
PAGE = 50
_ID = re.compile(r"[0-9a-f]{24}")


class Discussions(HubView):
    """The discussions of a model."""

    parser_classes = [writing.AnyJson]

    @accepts("type", "status", "author", "p")
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """One page of discussions, newest first; of pull requests there are none."""
        query = request.query_params
        status = query.get("status", "all")
        if status not in ("all", *Discussion.Status.values):
            raise problems.InvalidRequest("A status is all, open or closed.")
        rows = selectors.discussions(
            request.user,
            self.model,
            status="" if status == "all" else status,
            author=query.get("author", ""),
        )
        if query.get("type") == "pull_request":
            rows = rows.none()
        count = rows.count()
        start = min(addresses.count(request, "p", 0, count) * PAGE, count)
        page = [_summary(row) for row in rows[start : start + PAGE]]
        return Response({"discussions": page, "count": count, "start": start})

    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Open a discussion; a pull request is refused with a message."""
        body = writing.body(request)
        if body.get("pullRequest"):
            raise errors.Refused(NO_PULL_REQUESTS, status=400)
        row = services.open_discussion(
            request.user,
            model=self.model,
            title=writing.text(body, "title"),
            body=writing.text(body, "description"),
        )
        return Response(
            {"num": row.number, "pullRequest": False, "url": _page(self.model, row.number)}
        )


class _OneDiscussion(HubView):
    """What needs a discussion that the caller sees."""

    parser_classes = [writing.AnyJson]

    @cached_property
    def discussion(self) -> Discussion:
        return selectors.discussion(self.request.user, self.model, self.kwargs["discussion"])


class DiscussionDetails(_OneDiscussion):
    """One discussion."""

    @accepts("diff")
    def get(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """A discussion with its comments."""
        row = self.discussion
        may_moderate = selectors.may_moderate(request.user, row.model)
        events = [
            _comment(comment, shows_hidden=may_moderate)
            for comment in selectors.comments(row).select_related("author")
        ]
        if row.closed_at is not None and row.closed_by is not None:
            events.append(_status(row, row.closed_by, row.closed_at))
        return Response({**_summary(row), "events": events})


class NewComment(_OneDiscussion):
    """Where comments are added."""

    def post(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Add a comment."""
        row = self.discussion
        text = writing.text(writing.body(request), "comment")
        comment = services.comment(request.user, discussion=row, body=text)
        return Response({"newMessage": _comment(comment, shows_hidden=True)})


class EditComment(_OneDiscussion):
    """Where comments are changed."""

    def post(
        self, request: Request, namespace: str, name: str, discussion: int, comment: str
    ) -> Response:
        """Change one's own comment."""
        row = _named_comment(self.discussion, comment)
        text = writing.text(writing.body(request), "content")
        row = services.edit_comment(request.user, comment=row, body=text)
        return Response({"updatedComment": _comment(row, shows_hidden=True)})


class HideComment(_OneDiscussion):
    """Where comments are hidden."""

    def post(
        self, request: Request, namespace: str, name: str, discussion: int, comment: str
    ) -> Response:
        """Hide a comment; the page of the discussion can show it again."""
        row = _named_comment(self.discussion, comment)
        row = services.hide(request.user, comment=row)
        return Response({"updatedComment": _comment(row, shows_hidden=False)})


class Title(_OneDiscussion):
    """The title of a discussion."""

    def post(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Rename one's own discussion."""
        row = self.discussion
        new = services.rename(
            request.user, discussion=row, title=writing.text(writing.body(request), "title")
        )
        at = new.edited_at or timezone.now()
        event = _event(f"{new.number:024x}", "title-change", new.author, at)
        return Response({"newTitle": {**event, "data": {"from": row.title, "to": new.title}}})


class Status(_OneDiscussion):
    """Whether a discussion is open."""

    def post(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Close or reopen a discussion, perhaps with a comment."""
        row = self.discussion
        body = writing.body(request)
        with transaction.atomic():  # both, or none
            if comment := writing.text(body, "comment"):
                services.comment(request.user, discussion=row, body=comment)
            row = services.set_status(
                request.user, discussion=row, status=writing.text(body, "status")
            )
        at = row.closed_at or row.updated_at
        return Response({"newStatus": _status(row, row.closed_by or request.user, at)})


def _named_comment(of: Discussion, text: str) -> Comment:
    """A comment by its id; raises NotFound."""
    number = int(text, 16) if _ID.fullmatch(text) else 0
    return selectors.comment(of, number if number < 10_000 else 0)


def _page(model: RegisteredModel, number: int) -> str:
    return f"{settings.HUB_PUBLIC_URL}/models/{model.ref}/discussions/{number}"


def _summary(row: Discussion) -> dict[str, Any]:
    return {
        "num": row.number,
        "title": row.title,
        "status": row.status,
        "isPullRequest": False,
        "author": {"name": row.author.username},
        "createdAt": shapes.moment(row.created_at),
        "numComments": row.comment_count,
        "repo": {"name": row.model.ref, "type": "model"},
    }


def _event(event_id: str, kind: str, author: User, at: datetime) -> dict[str, Any]:
    author_json = {"name": author.username}
    return {"id": event_id, "type": kind, "author": author_json, "createdAt": shapes.moment(at)}


def _comment(row: Comment, *, shows_hidden: bool) -> dict[str, Any]:
    is_hidden = row.hidden_at is not None
    text = row.body if shows_hidden or not is_hidden else ""
    latest = {
        "raw": text,
        # Pages render Markdown; clients get the words as they are.
        "html": format_html("<pre>{}</pre>", text),
        "updatedAt": shapes.moment(row.edited_at or row.created_at),
        "author": {"name": row.author.username},
    }
    data = {
        "edited": row.edited_at is not None,
        "hidden": is_hidden,
        "latest": latest,
        "history": [],
        "numEdits": int(row.edited_at is not None),
    }
    return {**_event(f"{row.number:024x}", "comment", row.author, row.created_at), "data": data}


def _status(row: Discussion, by: Any, at: datetime) -> dict[str, Any]:
    event = _event(f"{0xC105ED:024x}", "status-change", by, at)
    return {**event, "data": {"status": row.status}}
