"""The REST API over discussions. Those about versions that the caller does not see are nowhere."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol import problems
from registry.api.addresses import api_url
from registry.api.inputs import Input
from registry.api.operations import ModelView, listing, operation
from registry.api.outputs import Column, Columns, Output, answers_of
from registry.community.discussions import selectors, services
from registry.models import Comment, Discussion
from registry.models.discussions import (
    LONGEST_COMMENT,
    LONGEST_NODE,
    LONGEST_REASON,
    LONGEST_TITLE,
)
from registry.versions import selectors as version_selectors

if TYPE_CHECKING:
    from django.db.models import QuerySet

# How many comments the answer about one discussion has; the others come in pages.
FIRST_COMMENTS = 50
_EVIDENCE = re.compile(r"([a-z]{1,11})/([1-9][0-9]{0,17})")


class DiscussionEvidenceOutput(Output[Discussion]):
    """The result that a discussion is about."""

    columns = Columns(
        Column("kind", "evidence_kind"), "id", Column("url", help_text="page of the result")
    )

    id = serializers.IntegerField(source="evidence_id")

    def get_url(self, row: Discussion) -> str:
        return f"{settings.HUB_PUBLIC_URL}{selectors.evidence_path(row)}"


class DiscussionOutput(Output[Discussion]):
    """A discussion in a list."""

    columns = Columns(
        "number",
        "title",
        "status",
        Column("author", "author.username"),
        "version",
        Column("evidence", help_text="the result it is about"),
        Column("node", help_text="name of the node it is about; empty without one"),
        "comment_count",
        "created_at",
        Column("edited_at", help_text="when the title was last changed"),
        Column("updated_at", help_text="when the last comment or change of status was"),
        "closed_at",
        "closed_by",
        "url",
    )

    version = serializers.IntegerField(
        source="version.number", allow_null=True, help_text="the version it is about"
    )
    closed_by = serializers.CharField(source="closed_by.username", allow_null=True)

    @extend_schema_field(DiscussionEvidenceOutput(allow_null=True))
    def get_evidence(self, row: Discussion) -> Any:
        return DiscussionEvidenceOutput(row).data if row.evidence_kind else None

    def get_url(self, row: Discussion) -> str:
        return f"{settings.HUB_PUBLIC_URL}/models/{row.model.ref}/discussions/{row.number}"


class CommentOutput(Output[Comment]):
    """A comment in a discussion."""

    columns = Columns(
        "number",
        Column("author", "author.username"),
        Column("body", help_text="Markdown; null if it is hidden, unless you can show it again"),
        "created_at",
        "edited_at",
        "hidden_at",
        "hidden_by",
        "hidden_reason",
    )

    hidden_by = serializers.CharField(source="hidden_by.username", allow_null=True)

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_body(self, row: Comment) -> str | None:
        if row.hidden_at is not None and not self.context["view"].may_moderate:
            return None
        return row.body


class DiscussionDetailOutput(DiscussionOutput):
    """A discussion with its first 50 comments."""

    evidence_title = serializers.CharField(
        help_text="the result it is about, in a few words; empty if it is gone"
    )
    comments = CommentOutput(many=True)

    def to_representation(self, instance: Discussion) -> Any:
        data = DiscussionOutput(instance).data | {
            "evidence_title": selectors.evidence_title(instance)
        }
        comments = selectors.comments(instance)[:FIRST_COMMENTS]
        return data | {"comments": answers_of(CommentOutput, comments, self.context)}


class DiscussionInput(Input):
    """A new discussion."""

    title = serializers.CharField(max_length=LONGEST_TITLE)
    body = serializers.CharField(
        max_length=LONGEST_COMMENT, trim_whitespace=False, help_text="first comment, in Markdown"
    )
    version = serializers.IntegerField(
        min_value=1, required=False, allow_null=True, help_text="the version it is about"
    )
    evidence = serializers.RegexField(
        _EVIDENCE,
        required=False,
        allow_blank=True,
        help_text="the result of that version it is about: kind/id, such as conformance/7",
    )
    node = serializers.CharField(
        max_length=LONGEST_NODE,
        required=False,
        allow_blank=True,
        help_text="name of the node of that version it is about",
    )


class DiscussionEdit(Input):
    """The changeable fields of a discussion; omitted fields stay unchanged."""

    title = serializers.CharField(max_length=LONGEST_TITLE, required=False)
    status = serializers.ChoiceField(
        Discussion.Status.choices, required=False, help_text="open or closed"
    )


class CommentInput(Input):
    """The text of a comment."""

    body = serializers.CharField(
        max_length=LONGEST_COMMENT, trim_whitespace=False, help_text="comment, in Markdown"
    )


class CommentHideInput(Input):
    """Why a comment is hidden."""

    reason = serializers.CharField(
        max_length=LONGEST_REASON,
        required=False,
        allow_blank=True,
        help_text="the reason, which is shown to users",
    )


class DiscussionsQuery(serializers.Serializer[Any]):
    """What a list of discussions is asked for."""

    status = serializers.ChoiceField(
        Discussion.Status.choices, required=False, help_text="only open or only closed ones"
    )
    version = serializers.IntegerField(
        min_value=1, required=False, help_text="only discussions about this version"
    )
    author = serializers.CharField(
        required=False, max_length=150, help_text="only discussions that this user opened"
    )


def parse_evidence(text: str) -> tuple[str, int]:
    """The kind and the id of `kind/id`; raises InvalidRequest."""
    match = _EVIDENCE.fullmatch(text)
    if match is None:
        raise problems.InvalidRequest.at(
            "/evidence", "Name a result as kind/id, such as conformance/7."
        )
    return match[1], int(match[2])


class DiscussionsView(ModelView):
    """At or below the address of the discussions of a model."""

    @cached_property
    def may_moderate(self) -> bool:
        """Whether the caller may read hidden comments."""
        return selectors.may_moderate(self.request.user, self.model)


class DiscussionList(DiscussionsView):
    """The discussions of a model."""

    @listing("discussions_list", DiscussionOutput, DiscussionsQuery, by="number")
    def get(self, **query: Any) -> QuerySet[Discussion]:
        """List the discussions of a model, newest first; narrow with `status` and `version`."""
        return selectors.discussions(self.request.user, self.model, **query)

    @operation(
        "discussions_open",
        DiscussionDetailOutput,
        reads=DiscussionInput,
        status=201,
        location=lambda row: api_url("models", f"{row.model.ref}/discussions/{row.number}"),
    )
    def post(self, version: int | None = None, evidence: str = "", **fields: Any) -> Discussion:
        """Open a discussion with its first comment, perhaps about a version, result or node."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        discussion = services.open_discussion(
            actor,
            model=self.model,
            version=version_selectors.version(actor, *place, version) if version else None,
            result=parse_evidence(evidence) if evidence else None,
            **fields,
        )
        return selectors.discussion(actor, self.model, discussion.number)


class DiscussionView(DiscussionsView):
    """At or below the address of a discussion that the caller sees."""

    target = "discussion"

    @cached_property
    def discussion(self) -> Discussion:
        """The discussion of the address; raises NotFound."""
        return selectors.discussion(self.request.user, self.model, self.kwargs["discussion"])

    @property
    def comment(self) -> Comment:
        """The comment of the address; raises NotFound."""
        return selectors.comment(self.discussion, self.kwargs["comment"])


class DiscussionDetail(DiscussionView):
    """One discussion."""

    @operation("discussions_read", DiscussionDetailOutput, tagged=True)
    def get(self) -> Discussion:
        """Read a discussion with its first 50 comments."""
        return self.discussion

    @operation("discussions_edit", DiscussionDetailOutput, reads=DiscussionEdit)
    def patch(self, **changes: str) -> Discussion:
        """Change the title of your discussion, or close or reopen it as its author or a writer."""
        actor, row = self.request.user, self.discussion
        with transaction.atomic():  # both changes, or none
            if "title" in changes:
                services.rename(actor, discussion=row, title=changes["title"])
            if "status" in changes:
                services.set_status(actor, discussion=row, status=changes["status"])
        return selectors.discussion(actor, row.model, row.number)


class CommentList(DiscussionView):
    """The comments of a discussion."""

    @listing("discussions_comments", CommentOutput, by="number", rising=True)
    def get(self) -> QuerySet[Comment]:
        """List the comments of a discussion, oldest first."""
        return selectors.comments(self.discussion)

    @operation("discussions_comment", CommentOutput, reads=CommentInput, status=201)
    def post(self, body: str) -> Comment:
        """Comment in a discussion, open or closed."""
        return services.comment(self.request.user, discussion=self.discussion, body=body)


class CommentDetail(DiscussionView):
    """One comment."""

    @operation("discussions_edit_comment", CommentOutput, reads=CommentInput)
    def patch(self, body: str) -> Comment:
        """Change your comment."""
        return services.edit_comment(self.request.user, comment=self.comment, body=body)


class CommentHide(DiscussionView):
    """Hiding a comment."""

    @operation("discussions_hide_comment", CommentOutput, reads=CommentHideInput)
    def post(self, **reason: str) -> Comment:
        """Hide the text of a comment from everyone who cannot write the model. For writers."""
        return services.hide(self.request.user, comment=self.comment, **reason)


class CommentUnhide(DiscussionView):
    """Showing a hidden comment again."""

    @operation("discussions_unhide_comment", CommentOutput)
    def post(self) -> Comment:
        """Show the text of a hidden comment again. For writers."""
        return services.unhide(self.request.user, comment=self.comment)
