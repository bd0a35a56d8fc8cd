"""The forms of discussions; whether a change is allowed, services say."""

from __future__ import annotations

from django import forms

from registry.models.discussions import LONGEST_COMMENT, LONGEST_NODE, LONGEST_TITLE

_MARKDOWN = "Markdown. Pictures from other sites become links."


class CommentForm(forms.Form):
    """A comment."""

    body = forms.CharField(
        label="Comment",
        max_length=LONGEST_COMMENT,
        strip=False,
        help_text=_MARKDOWN,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


class TitleForm(forms.Form):
    """The title of a discussion."""

    title = forms.CharField(label="Title", max_length=LONGEST_TITLE)


class DiscussionForm(CommentForm, TitleForm):
    """A new discussion, perhaps about a version, one of its results, or a node."""

    version = forms.IntegerField(
        label="Version",
        min_value=1,
        max_value=999_999_999,
        required=False,
        help_text="Number of the version that it is about. Empty: the model as a whole.",
    )
    node = forms.CharField(
        label="Node",
        max_length=LONGEST_NODE,
        required=False,
        help_text="Name of the node that it is about, for example /conv1/Conv.",
    )
    evidence = forms.CharField(
        label="Result", max_length=40, required=False, widget=forms.HiddenInput
    )
    field_order = ("title", "version", "node", "body", "evidence")
