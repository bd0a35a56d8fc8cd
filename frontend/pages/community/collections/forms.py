"""The forms of collections; whether a change is allowed, services say."""

from __future__ import annotations

from django import forms

from frontend.presenters.forms import NamespaceForm
from registry.models.collections import LONGEST_DESCRIPTION, LONGEST_TITLE


class CollectionForm(forms.Form):
    """What a collection says of itself."""

    title = forms.CharField(
        label="Title",
        max_length=LONGEST_TITLE,
        help_text="For example “Small classifiers for microcontrollers”.",
    )
    description = forms.CharField(
        label="Description",
        max_length=LONGEST_DESCRIPTION,
        required=False,
        help_text="Plain text: which models belong in it, and for what they are meant.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    visibility = forms.ChoiceField(
        label="Visibility",
        choices=[
            ("public", "Public"),
            ("private", "Private, members of the namespace only"),
        ],
    )


class NewCollectionForm(NamespaceForm, CollectionForm):
    """A new collection."""

    slug = forms.CharField(
        label="Name",
        max_length=96,
        help_text="Lower-case letters, digits, hyphen, underscore. Permanent.",
    )
    field_order = ("namespace", "slug", "title")
