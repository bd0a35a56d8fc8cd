"""The REST operations of discussions, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment in a discussion."""

    number: int
    author: str
    # Markdown; null if it is hidden, unless you can show it again
    body: str | None
    created_at: datetime
    edited_at: datetime | None
    hidden_at: datetime | None
    hidden_by: str | None
    hidden_reason: str


@dataclass(frozen=True, kw_only=True)
class DiscussionEvidence:
    """The result that a discussion is about."""

    kind: str
    id: int
    # page of the result
    url: str


@dataclass(frozen=True, kw_only=True)
class Discussion:
    """A discussion in a list."""

    number: int
    title: str
    status: str
    author: str
    # the version it is about
    version: int | None
    # the result it is about
    evidence: DiscussionEvidence | None
    # name of the node it is about; empty without one
    node: str
    comment_count: int
    created_at: datetime
    # when the title was last changed
    edited_at: datetime | None
    # when the last comment or change of status was
    updated_at: datetime
    closed_at: datetime | None
    closed_by: str | None
    url: str


@dataclass(frozen=True, kw_only=True)
class DiscussionDetail(Discussion):
    """A discussion with its first 50 comments."""

    # the result it is about, in a few words; empty if it is gone
    evidence_title: str
    comments: tuple[Comment, ...]


class DiscussionsGroup(Group):
    """The operations of discussions."""

    def comment(
        self, model: str, discussion: int, *, body: Annotated[str, "comment, in Markdown"]
    ) -> Comment:
        """Comment in a discussion, open or closed."""
        return self._call(
            Comment,
            "POST",
            f"models/{model_path(model)}/discussions/{part(discussion)}/comments",
            content=json_of({"body": body}),
        )

    def comments(
        self,
        model: str,
        discussion: int,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Comment]:
        """List the comments of a discussion, oldest first."""
        return self._pages(
            Comment,
            f"models/{model_path(model)}/discussions/{part(discussion)}/comments",
            limit=limit,
        )

    def edit(
        self,
        model: str,
        discussion: int,
        *,
        title: str | None = None,
        status: Annotated[Literal["open", "closed"] | None, "open or closed"] = None,
    ) -> DiscussionDetail:
        """Change the title of your discussion, or close or reopen it as its author or a writer."""
        return self._call(
            DiscussionDetail,
            "PATCH",
            f"models/{model_path(model)}/discussions/{part(discussion)}",
            content=json_of({"title": title, "status": status}),
        )

    def edit_comment(
        self,
        model: str,
        discussion: int,
        comment: int,
        *,
        body: Annotated[str | None, "comment, in Markdown"] = None,
    ) -> Comment:
        """Change your comment."""
        return self._call(
            Comment,
            "PATCH",
            f"models/{model_path(model)}/discussions/{part(discussion)}/comments/{part(comment)}",
            content=json_of({"body": body}),
        )

    def hide_comment(
        self,
        model: str,
        discussion: int,
        comment: int,
        *,
        reason: Annotated[str | None, "the reason, which is shown to users"] = None,
    ) -> Comment:
        """Hide the text of a comment from everyone who cannot write the model. For writers."""
        return self._call(
            Comment,
            "POST",
            f"models/{model_path(model)}/discussions/{part(discussion)}/comments/{part(comment)}/hide",
            content=json_of({"reason": reason}),
        )

    def list(
        self,
        model: str,
        *,
        author: Annotated[str | None, "only discussions that this user opened"] = None,
        status: Annotated[Literal["open", "closed"] | None, "only open or only closed ones"] = None,
        version: Annotated[int | None, "only discussions about this version"] = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Discussion]:
        """List the discussions of a model, newest first; narrow with `status` and `version`."""
        return self._pages(
            Discussion,
            f"models/{model_path(model)}/discussions",
            query={"author": author, "status": status, "version": version},
            limit=limit,
        )

    def open(
        self,
        model: str,
        *,
        title: str,
        body: Annotated[str, "first comment, in Markdown"],
        version: Annotated[int | None, "the version it is about"] = None,
        evidence: Annotated[
            str | None, "the result of that version it is about: kind/id, such as conformance/7"
        ] = None,
        node: Annotated[str | None, "name of the node of that version it is about"] = None,
    ) -> DiscussionDetail:
        """Open a discussion with its first comment, perhaps about a version, result or node."""
        return self._call(
            DiscussionDetail,
            "POST",
            f"models/{model_path(model)}/discussions",
            content=json_of(
                {
                    "title": title,
                    "body": body,
                    "version": version,
                    "evidence": evidence,
                    "node": node,
                }
            ),
        )

    def read(self, model: str, discussion: int) -> DiscussionDetail:
        """Read a discussion with its first 50 comments."""
        return self._call(
            DiscussionDetail, "GET", f"models/{model_path(model)}/discussions/{part(discussion)}"
        )

    def unhide_comment(self, model: str, discussion: int, comment: int) -> Comment:
        """Show the text of a hidden comment again. For writers."""
        return self._call(
            Comment,
            "POST",
            f"models/{model_path(model)}/discussions/{part(discussion)}/comments/{part(comment)}/unhide",
        )
