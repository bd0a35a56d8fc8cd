"""The REST API over discussions. Those about versions that the caller does not see are nowhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import etags, pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns, Output
from registry.api.parameters import PAGED, asks
from registry.discussions import evidence, selectors, services
from registry.models import Comment, Discussion
from registry.models.discussions import (
    LONGEST_COMMENT,
    LONGEST_NODE,
    LONGEST_REASON,
    LONGEST_TITLE,
)
from registry.versions import selectors as version_selectors

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.core.permissions import Actor
    from registry.models import RegisteredModel

# How many comments the answer about one discussion has; the others come in pages.
FIRST_COMMENTS = 50
_EVIDENCE = re.compile(r"([a-z]{1,11})/([1-9][0-9]{0,17})")
_PAGES = {
    "benchmark": "/benchmarks/{}",
    "conformance": "/conformance/{}",
    "evaluation": "#accuracy",
}


class DiscussionEvidenceOutput(Output[Discussion]):
    """The result that a discussion is about."""

    columns = Columns(
        Column("kind", "evidence_kind"), "id", Column("url", help_text="page of the result")
    )

    id = serializers.IntegerField(source="evidence_id")

    def get_url(self, row: Discussion) -> str:
        return f"{settings.HUB_PUBLIC_URL}{evidence_path(row)}"


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
        if row.hidden_at is not None and not self.context["may_moderate"]:
            return None
        return row.body


class DiscussionDetailOutput(DiscussionOutput):
    """A discussion with its first 50 comments."""

    evidence_title = serializers.CharField(
        help_text="the result it is about, in a few words; empty if it is gone"
    )
    comments = CommentOutput(many=True)


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


def evidence_path(of: Discussion) -> str:
    """The page of the result that a discussion is about; empty without one."""
    if of.version is None or not of.evidence_kind:
        return ""
    page = _PAGES[of.evidence_kind].format(of.evidence_id)
    return f"/models/{of.model.ref}/v/{of.version.number}{page}"


def parse_evidence(text: str) -> tuple[str, int]:
    """The kind and the id of `kind/id`; raises InvalidRequest."""
    match = _EVIDENCE.fullmatch(text)
    if match is None:
        raise problems.InvalidRequest.at(
            "/evidence", "Name a result as kind/id, such as conformance/7."
        )
    return match[1], int(match[2])


def detail(actor: Actor, of: Discussion) -> dict[str, Any]:
    """A discussion as the API returns it to the caller."""
    data = dict(DiscussionOutput(of).data)
    data["evidence_title"] = evidence.title(of)
    context = {"may_moderate": selectors.may_moderate(actor, of.model)}
    rows = selectors.comments(of)[:FIRST_COMMENTS]
    data["comments"] = [CommentOutput(row, context=context).data for row in rows]
    return data


def _comment(request: Request, row: Comment, of: RegisteredModel, *, status: int = 200) -> Response:
    context = {"may_moderate": selectors.may_moderate(request.user, of)}
    return Response(CommentOutput(row, context=context).data, status=status)


class DiscussionList(APIView):
    """The discussions of a model."""

    @extend_schema(operation_id="discussions_list", responses=pagination.paged(DiscussionOutput))
    @asks(DiscussionsQuery, *PAGED)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the discussions of a model, newest first; narrow with `status` and `version`."""
        model = version_selectors.model(request.user, namespace, name)
        query = parse(DiscussionsQuery, request.query_params.dict())
        rows = selectors.discussions(
            request.user,
            model,
            status=query.get("status", ""),
            version=query.get("version"),
            author=query.get("author", ""),
        )
        return pagination.highest_first(request, DiscussionOutput, rows, "number")

    @extend_schema(
        operation_id="discussions_open",
        request=DiscussionInput,
        responses={201: DiscussionDetailOutput},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Open a discussion with its first comment, perhaps about a version, result or node."""
        model = version_selectors.model(request.user, namespace, name)
        data = parse(DiscussionInput, request.data)
        number, result = data.pop("version", None), data.pop("evidence", "")
        version = None
        if number is not None:
            version = version_selectors.version(request.user, namespace, name, number)
        discussion = services.open_discussion(
            request.user,
            model=model,
            version=version,
            result=parse_evidence(result) if result else None,
            **data,
        )
        row = selectors.discussion(request.user, model, discussion.number)
        response = Response(detail(request.user, row), status=201)
        response["Location"] = api_url("models", f"{model.ref}/discussions/{row.number}")
        return response


class _OneDiscussion(APIView):
    """What needs a discussion that the caller sees."""

    def discussion(self, request: Request, namespace: str, name: str, number: int) -> Discussion:
        model = version_selectors.model(request.user, namespace, name)
        return selectors.discussion(request.user, model, number)


class DiscussionDetail(_OneDiscussion):
    """One discussion."""

    @extend_schema(operation_id="discussions_read", responses=DiscussionDetailOutput)
    def get(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Read a discussion with its first 50 comments."""
        row = self.discussion(request, namespace, name, discussion)
        return etags.respond(request, detail(request.user, row))

    @extend_schema(
        operation_id="discussions_edit", request=DiscussionEdit, responses=DiscussionDetailOutput
    )
    def patch(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Change the title of your discussion, or close or reopen it as its author or a writer."""
        row = self.discussion(request, namespace, name, discussion)
        data = parse(DiscussionEdit, request.data)
        with transaction.atomic():  # both changes, or none
            if "title" in data:
                services.rename(request.user, discussion=row, title=data["title"])
            if "status" in data:
                services.set_status(request.user, discussion=row, status=data["status"])
        row = selectors.discussion(request.user, row.model, row.number)
        return Response(detail(request.user, row))


class CommentList(_OneDiscussion):
    """The comments of a discussion."""

    @extend_schema(operation_id="discussions_comments", responses=pagination.paged(CommentOutput))
    @asks(*PAGED)
    def get(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """List the comments of a discussion, oldest first."""
        row = self.discussion(request, namespace, name, discussion)
        context = {"may_moderate": selectors.may_moderate(request.user, row.model)}
        rows = selectors.comments(row)
        return pagination.lowest_first(request, CommentOutput, rows, "number", context)

    @extend_schema(
        operation_id="discussions_comment", request=CommentInput, responses={201: CommentOutput}
    )
    def post(self, request: Request, namespace: str, name: str, discussion: int) -> Response:
        """Comment in a discussion, open or closed."""
        row = self.discussion(request, namespace, name, discussion)
        data = parse(CommentInput, request.data)
        comment = services.comment(request.user, discussion=row, **data)
        return _comment(request, comment, row.model, status=201)


class CommentDetail(_OneDiscussion):
    """One comment."""

    @extend_schema(
        operation_id="discussions_edit_comment", request=CommentInput, responses=CommentOutput
    )
    def patch(
        self, request: Request, namespace: str, name: str, discussion: int, comment: int
    ) -> Response:
        """Change your comment."""
        row = self.discussion(request, namespace, name, discussion)
        data = parse(CommentInput, request.data)
        changed = services.edit_comment(
            request.user, comment=selectors.comment(row, comment), **data
        )
        return _comment(request, changed, row.model)


class CommentHide(_OneDiscussion):
    """Hiding a comment."""

    @extend_schema(
        operation_id="discussions_hide_comment", request=CommentHideInput, responses=CommentOutput
    )
    def post(
        self, request: Request, namespace: str, name: str, discussion: int, comment: int
    ) -> Response:
        """Hide the text of a comment from everyone who cannot write the model. For writers."""
        row = self.discussion(request, namespace, name, discussion)
        data = parse(CommentHideInput, request.data)
        hidden = services.hide(request.user, comment=selectors.comment(row, comment), **data)
        return _comment(request, hidden, row.model)


class CommentUnhide(_OneDiscussion):
    """Showing a hidden comment again."""

    @extend_schema(operation_id="discussions_unhide_comment", request=None, responses=CommentOutput)
    def post(
        self, request: Request, namespace: str, name: str, discussion: int, comment: int
    ) -> Response:
        """Show the text of a hidden comment again. For writers."""
        row = self.discussion(request, namespace, name, discussion)
        visible = services.unhide(request.user, comment=selectors.comment(row, comment))
        return _comment(request, visible, row.model)
