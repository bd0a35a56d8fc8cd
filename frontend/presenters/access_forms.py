"""What people type on a model's settings, on access to its files, and to end a version."""

from __future__ import annotations

from typing import Any

from django import forms

from frontend.parts import labels
from frontend.presenters.forms import Named, NamespaceForm
from hub.protocol.vocabularies import TASKS
from registry.models import RegisteredModel
from registry.versions.services import access

MOST_KEYWORDS, LONGEST_KEYWORD = 50, 64
LONGEST_REASON = 2_000


class MoveForm(NamespaceForm):
    """The name that a model shall have."""

    name = Named(label="Name", max_length=96)


class AudienceForm(forms.Form):
    """Who sees a model, and who may have its files."""

    visibility = forms.ChoiceField(
        label="Visibility",
        choices=[
            ("public", "Public, once published"),
            ("private", "Private, members of the namespace only"),
        ],
    )
    gate = forms.ChoiceField(
        label="File access",
        choices=[
            (RegisteredModel.Gate.OPEN, "Open to anyone who can see the model"),
            (RegisteredModel.Gate.AUTO, "On request, granted automatically"),
            (RegisteredModel.Gate.MANUAL, "On request, reviewed by a maintainer"),
        ],
        help_text="Members of the namespace always have access. Page, card and metadata are not "
        "restricted.",
    )


class DescribeForm(forms.Form):
    """What a model's page says of it where the card of its newest version is silent."""

    license = forms.CharField(
        label="Licence",
        max_length=64,
        required=False,
        help_text="SPDX identifier, for example Apache-2.0.",
        widget=forms.TextInput(attrs={"list": "licences"}),
    )
    task = forms.ChoiceField(label="Task", required=False)
    summary = forms.CharField(
        label="Summary", max_length=300, required=False, help_text="One sentence, shown in lists."
    )
    keywords = forms.CharField(
        label="Keywords",
        max_length=MOST_KEYWORDS * (LONGEST_KEYWORD + 2),
        required=False,
        help_text="Search keywords, comma-separated.",
    )

    def __init__(self, *args: Any, task: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["task"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        # What a card said may be no task of the list; to keep it is no mistake.
        known = [*TASKS, *([task] if task and task not in TASKS else [])]
        field.choices = [("", "not declared"), *((one, labels.task(one)) for one in known)]

    def clean_keywords(self) -> list[str]:
        """Each once, as many and as long as the API takes them."""
        parts = (part.strip() for part in str(self.cleaned_data["keywords"]).split(","))
        given = list(dict.fromkeys(part for part in parts if part))
        if len(given) > MOST_KEYWORDS:
            raise forms.ValidationError(f"Enter up to {MOST_KEYWORDS} keywords.")
        if any(len(part) > LONGEST_KEYWORD for part in given):
            raise forms.ValidationError(f"Keywords can have up to {LONGEST_KEYWORD} characters.")
        return given


class EndForm(forms.Form):
    """Why a version is yanked or withdrawn."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Shown permanently on the page of the version.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AskForm(forms.Form):
    """A message to the maintainers who review the request."""

    message = forms.CharField(
        label="Message to the maintainers",
        max_length=access.LONGEST_MESSAGE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Say what you want to use the model for. Maintainers also see your user name.",
    )


class GrantForm(forms.Form):
    """Grant access to a user without a request."""

    user = forms.CharField(label="User name", max_length=150)
