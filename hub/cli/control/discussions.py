"""The commands of discussions: questions and remarks about models and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hub.cli.control import output
from hub.cli.control.verbs import Noun, Verb

if TYPE_CHECKING:
    from hub.client.rest.discussions import Comment, DiscussionDetail

_OPEN = "hub discussion open zoo/resnet50@3 --title 'It diverges' --body 'See the log.'"
_BODY = {"body": "comment, in Markdown"}


def _show(answer: object) -> None:
    """Print a discussion with its comments, as they were written."""
    discussion = cast("DiscussionDetail", answer)
    about = [
        f"version {discussion.version}" if discussion.version else "",
        discussion.evidence_title,
        f"node {discussion.node}" if discussion.node else "",
    ]
    lines = [
        f"#{discussion.number} {discussion.title}",
        f"{discussion.status}, opened by {discussion.author}, {output.text(discussion.created_at)}",
        f"About {', '.join(filter(None, about))}" if any(about) else "",
        discussion.url,
    ]
    for line in filter(None, lines):
        print(output.text(line))
    for comment in discussion.comments:
        print()
        _show_comment(comment)
    left = discussion.comment_count - len(discussion.comments)
    if left > 0:
        print(f"\n{left} more: see `hub discussion comments`")


def _show_comment(answer: object) -> None:
    comment = cast("Comment", answer)
    edited = ", edited" if comment.edited_at else ""
    hidden = ", hidden" if comment.hidden_at else ""
    reason = f": {comment.hidden_reason}" if comment.hidden_reason else ""
    head = f"{comment.author}, {output.text(comment.created_at)}{edited}{hidden}{reason}"
    print(f"[{comment.number}] {output.text(head)}")
    if comment.body is not None:
        output.raw(comment.body)


DISCUSSION = Noun(
    "discussion",
    "read and write discussions of models",
    (
        Verb(
            "list",
            "discussions.list",
            "list the discussions of a model, newest first",
            (
                "hub discussion list zoo/resnet50",
                "hub discussion list zoo/resnet50 --status open",
                "hub discussion list zoo/resnet50 --version 3",
            ),
            ("number", "status", "title", "version", "author", "comment_count=comments"),
            texts={"version": "only discussions about this version"},
        ),
        Verb(
            "show",
            "discussions.read",
            "show a discussion with its first 50 comments",
            ("hub discussion show zoo/resnet50 7",),
            show=_show,
        ),
        Verb(
            "comments",
            "discussions.comments",
            "list the comments of a discussion, oldest first",
            ("hub discussion comments zoo/resnet50 7 --limit 100",),
            ("number", "author", "created_at=written", "body"),
        ),
        Verb(
            "open",
            "discussions.open",
            "open a discussion, perhaps about a version, one of its results or a node",
            (
                (
                    "hub discussion open zoo/resnet50 --title 'Diverges on my GPU' "
                    "--body 'With CUDA 12.'"
                ),
                f"{_OPEN} --node /conv1/Conv",
                f"{_OPEN} --evidence conformance/7",
            ),
            version_parameter="version",
            show=_show,
        ),
        Verb(
            "comment",
            "discussions.comment",
            "comment in a discussion",
            ("hub discussion comment zoo/resnet50 7 'The same on sm_90.'",),
            positional=("body",),
            texts=_BODY,
            show=_show_comment,
        ),
        Verb(
            "edit",
            "discussions.edit_comment",
            "change your comment",
            ("hub discussion edit zoo/resnet50 7 2 'The same on sm_90, with ONNX Runtime 1.23.'",),
            positional=("body",),
            texts=_BODY,
            show=_show_comment,
        ),
        Verb(
            "rename",
            "discussions.edit",
            "change the title of your discussion",
            ("hub discussion rename zoo/resnet50 7 'Diverges on H100'",),
            positional=("title",),
            fixed={"status": None},
            texts={"title": "the new title"},
            show=_show,
        ),
        Verb(
            "close",
            "discussions.edit",
            "close a discussion, as its author or a writer",
            ("hub discussion close zoo/resnet50 7",),
            fixed={"status": "closed", "title": None},
            show=_show,
        ),
        Verb(
            "reopen",
            "discussions.edit",
            "reopen a discussion, as its author or a writer",
            ("hub discussion reopen zoo/resnet50 7",),
            fixed={"status": "open", "title": None},
            show=_show,
        ),
        Verb(
            "hide",
            "discussions.hide_comment",
            "hide the text of a comment from readers, as a writer of the namespace",
            ("hub discussion hide zoo/resnet50 7 2 --reason 'Advertising'",),
            show=_show_comment,
        ),
        Verb(
            "unhide",
            "discussions.unhide_comment",
            "show the text of a hidden comment again, as a writer of the namespace",
            ("hub discussion unhide zoo/resnet50 7 2",),
            show=_show_comment,
        ),
    ),
)
