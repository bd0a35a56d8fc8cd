"""The REST API over discussions. Those about versions that the caller does not see are nowhere."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol import problems
from registry.api.addresses import api_url
from registry.api.inputs import Input
from registry.api.operations import (
    ModelView,
    command,
    detail,
    listing,
    operation,
    resource,
    rows,
)
from registry.api.outputs import Column, Columns, Output, Shape, answers_of
from registry.community.discussions import selectors, services
from registry.models import Comment, Discussion
from registry.models.discussions import (
    LONGEST_COMMENT,
)
from registry.versions import selectors as version_selectors

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

    columns = Columns(
        "title",
        Column(
            "body",
            kind=str,
            max_length=LONGEST_COMMENT,
            trim_whitespace=False,
            help_text="first comment, in Markdown",
        ),
        Column(
            "version",
            kind=int,
            min_value=1,
            required=False,
            allow_null=True,
            help_text="the version it is about",
        ),
        Column(
            "evidence",
            field=serializers.RegexField,
            regex=_EVIDENCE,
            required=False,
            allow_blank=True,
            help_text="the result of that version it is about: kind/id, such as conformance/7",
        ),
        Column("node", required=False, help_text="name of the node of that version it is about"),
        of=Discussion,
    )


class DiscussionEdit(Input):
    """The changeable fields of a discussion; omitted fields stay unchanged."""

    columns = Columns(
        "title", Column("status", help_text="open or closed"), of=Discussion, required=False
    )


class CommentInput(Input):
    """The text of a comment."""

    columns = Columns(
        Column(
            "body",
            max_length=LONGEST_COMMENT,
            trim_whitespace=False,
            help_text="comment, in Markdown",
        )
    )


class CommentHideInput(Input):
    """Why a comment is hidden."""

    columns = Columns(
        Column(
            "reason",
            "hidden_reason",
            required=False,
            help_text="the reason, which is shown to users",
        ),
        of=Comment,
    )


class DiscussionsQuery(Shape[Any]):
    """What a list of discussions is asked for."""

    columns = Columns(
        Column(
            "status",
            choices=Discussion.Status.choices,
            help_text="only open or only closed ones",
        ),
        Column("version", kind=int, min_value=1, help_text="only discussions about this version"),
        Column("author", max_length=150, help_text="only discussions that this user opened"),
        required=False,
    )


def parse_evidence(text: str) -> tuple[str, int]:
    """The kind and the id of `kind/id`; raises InvalidRequest."""
    match = problems.expect(
        _EVIDENCE.fullmatch(text),
        problems.InvalidRequest.at("/evidence", "Name a result as kind/id, such as conformance/7."),
    )
    return match[1], int(match[2])


class Discussions(ModelView):
    """The discussions of a model, and their comments."""

    discussion = resource(selectors.discussion, "model", "discussion")

    @cached_property
    def comment(self) -> Comment:
        """The comment of the address; raises NotFound."""
        return selectors.comment(self.discussion, self.kwargs["comment"])

    # Whether the caller may read hidden comments.
    may_moderate = resource(selectors.may_moderate, "model")

    index = rows(
        "discussions_list",
        selectors.discussions,
        "List the discussions of a model, newest first; narrow with `status` and `version`.",
        DiscussionOutput,
        DiscussionsQuery,
        by="number",
    )

    @operation(
        "discussions_open",
        DiscussionDetailOutput,
        reads=DiscussionInput,
        status=201,
        location=lambda row: api_url("models", f"{row.model.ref}/discussions/{row.number}"),
    )
    def create(self, version: int | None = None, evidence: str = "", **fields: Any) -> Discussion:
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

    read = detail(
        "discussions_read",
        DiscussionDetailOutput,
        "Read a discussion with its first 50 comments.",
        targets=("discussion",),
        tagged=True,
    )

    @operation(
        "discussions_edit", DiscussionDetailOutput, targets=("discussion",), reads=DiscussionEdit
    )
    def edit(self, **changes: str) -> Discussion:
        """Change the title of your discussion, or close or reopen it as its author or a writer."""
        actor, row = self.request.user, self.discussion
        with transaction.atomic():  # both changes, or none
            if "title" in changes:
                services.rename(actor, discussion=row, title=changes["title"])
            if "status" in changes:
                services.set_status(actor, discussion=row, status=changes["status"])
        return selectors.discussion(actor, row.model, row.number)

    @listing(
        "discussions_comments", CommentOutput, by="number", rising=True, targets=("discussion",)
    )
    def comments(self) -> QuerySet[Comment]:
        """List the comments of a discussion, oldest first."""
        return selectors.comments(self.discussion)

    add_comment = command(
        "discussions_comment",
        services.comment,
        "Comment in a discussion, open or closed.",
        CommentOutput,
        targets=("discussion",),
        reads=CommentInput,
        status=201,
    )
    edit_comment = command(
        "discussions_edit_comment",
        services.edit_comment,
        "Change your comment.",
        CommentOutput,
        targets=("comment",),
        reads=CommentInput,
    )
    hide_comment = command(
        "discussions_hide_comment",
        services.hide,
        "Hide the text of a comment from everyone who cannot write the model. For writers.",
        CommentOutput,
        targets=("comment",),
        reads=CommentHideInput,
    )
    unhide_comment = command(
        "discussions_unhide_comment",
        services.unhide,
        "Show the text of a hidden comment again. For writers.",
        CommentOutput,
        targets=("comment",),
    )
