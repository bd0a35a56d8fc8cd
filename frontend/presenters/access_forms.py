"""What people type on a model's settings, on access to its files, and to end a version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from frontend.presenters.forms import (
    DescriptionForm,
    Named,
    NamespaceForm,
    VisibilityForm,
    offer,
)
from hub.protocol import refs
from registry.models import RegisteredModel
from registry.models.deprecations import LONGEST_MESSAGE
from registry.versions.services import access

MOST_KEYWORDS, LONGEST_KEYWORD = 50, 64
LONGEST_REASON = 2_000


class MoveForm(NamespaceForm):
    """The name that a model shall have."""

    name = Named(label="Name", max_length=96)


class AudienceForm(VisibilityForm):
    """Who sees a model, and who may have its files."""

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


class DescribeForm(DescriptionForm):
    """The description of a model, for what the card of its newest version does not declare."""

    keywords = forms.CharField(
        label="Keywords",
        max_length=MOST_KEYWORDS * (LONGEST_KEYWORD + 2),
        required=False,
        help_text="Search keywords, comma-separated.",
    )

    def clean_keywords(self) -> list[str]:
        """Each once, as many and as long as the API takes them."""
        parts = (part.strip() for part in str(self.cleaned_data["keywords"]).split(","))
        keywords = list(dict.fromkeys(part for part in parts if part))
        if len(keywords) > MOST_KEYWORDS:
            raise forms.ValidationError(f"Enter up to {MOST_KEYWORDS} keywords.")
        if any(len(part) > LONGEST_KEYWORD for part in keywords):
            raise forms.ValidationError(f"Keywords can have up to {LONGEST_KEYWORD} characters.")
        return keywords


class AliasForm(forms.Form):
    """An alias, the version that it should name, and why."""

    alias = forms.CharField(
        label="Alias",
        max_length=100,
        help_text="An existing name moves; a new one is created.",
        widget=forms.TextInput(attrs={"list": "aliases", "autocomplete": "off"}),
    )
    number = forms.TypedChoiceField(label="Version", coerce=int)
    message = forms.CharField(label="Reason", max_length=500, required=False)

    def __init__(self, *args: Any, numbers: Iterable[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "number", ((number, str(number)) for number in numbers))


class EndForm(forms.Form):
    """Why a version is yanked or withdrawn."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        help_text="Shown permanently on the page of the version.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class DeprecationForm(forms.Form):
    """Why a model or version is deprecated, and what replaces it."""

    message = forms.CharField(
        label="Message",
        max_length=LONGEST_MESSAGE,
        help_text="Shown on the page and by every client.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    successor = forms.CharField(
        label="Successor",
        max_length=refs.MAX_REFERENCE_CHARACTERS,
        required=False,
        help_text="The model or version to use, such as zoo/resnet50@4.",
    )


class DeletionForm(forms.Form):
    """Why a model is deleted, and whether its address says so."""

    reason = forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        required=False,
        help_text="Shown permanently at the address of the model.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    tombstone = forms.BooleanField(required=False, initial=True)


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
