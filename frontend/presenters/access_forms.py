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
        label="Who sees it",
        choices=[("public", "Everybody, once published"), ("private", "Members of the namespace")],
    )
    gate = forms.ChoiceField(
        label="Who may have its files",
        choices=[
            (RegisteredModel.Gate.OPEN, "Everybody who sees it"),
            (RegisteredModel.Gate.AUTO, "Whoever signs in and asks"),
            (RegisteredModel.Gate.MANUAL, "Whoever asks and is accepted by hand"),
        ],
        help_text="Members of the namespace always may. Page, card and metadata stay as visible as "
        "the model is.",
    )


class DescribeForm(forms.Form):
    """What a model's page says of it where the card of its newest version is silent."""

    license = forms.CharField(
        label="Licence",
        max_length=64,
        required=False,
        help_text="An SPDX id such as Apache-2.0.",
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
        help_text="By which it is to be found, with commas between them.",
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
            raise forms.ValidationError(f"At most {MOST_KEYWORDS} keywords.")
        if any(len(part) > LONGEST_KEYWORD for part in given):
            raise forms.ValidationError(f"A keyword has at most {LONGEST_KEYWORD} characters.")
        return given


class EndForm(forms.Form):
    """Why a version is yanked or withdrawn."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="People who used it read this on its page, for as long as the page stands.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AskForm(forms.Form):
    """Words for those who decide."""

    message = forms.CharField(
        label="What you want the files for",
        max_length=access.LONGEST_MESSAGE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Maintainers of the namespace read it, and your user name.",
    )


class GrantForm(forms.Form):
    """Somebody to be let in unasked."""

    user = forms.CharField(label="User name", max_length=150)
