"""The form that describes a data set; whether it is allowed, services say."""

from __future__ import annotations

from django import forms

from frontend.presenters.forms import NamespaceForm
from hub.protocol.cards import PERSONAL_DATA
from registry.cards.data_categories import CATEGORIES, LEGAL_BASES
from registry.datasets.services import LARGEST
from registry.models.datasets import PersonalData


class DatasetForm(forms.Form):
    """The description of a data set."""

    title = forms.CharField(label="Title", max_length=200, help_text="Official name, with version.")
    description = forms.CharField(
        label="Description",
        max_length=20_000,
        required=False,
        help_text="What a row represents, how the data was collected, and what it should not "
        "be used for.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    iri = forms.CharField(
        label="IRI",
        max_length=500,
        required=False,
        help_text="The address that the world knows it by: a DOI, or its page. Cards that name it "
        "are found by it.",
    )
    license = forms.CharField(
        label="Licence",
        max_length=64,
        required=False,
        help_text="SPDX identifier, for example CC-BY-4.0.",
        widget=forms.TextInput(attrs={"list": "licences"}),
    )
    source = forms.CharField(
        label="Source",
        max_length=500,
        required=False,
        help_text="Where the data was taken from.",
    )
    rows = forms.IntegerField(label="Rows", min_value=0, max_value=LARGEST, required=False)
    size_bytes = forms.IntegerField(
        label="Size in bytes", min_value=0, max_value=LARGEST, required=False
    )
    collected_on = forms.DateField(
        label="Collected on",
        required=False,
        help_text="Last day of data collection.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    personal_data = forms.ChoiceField(
        label="Personal data",
        choices=[(value, PERSONAL_DATA[value]) for value in PersonalData.values],
        help_text="Anonymised: people cannot be identified, and you can explain why.",
    )
    legal_basis = forms.ChoiceField(
        label="Legal basis",
        required=False,
        choices=[("", "not stated"), *LEGAL_BASES.items()],
        help_text="For personal data: the legal basis of processing.",
    )
    categories = forms.MultipleChoiceField(
        label="Categories of personal data",
        required=False,
        choices=sorted(CATEGORIES.items(), key=lambda pair: str(pair[1]).lower()),
        widget=forms.CheckboxSelectMultiple,
    )


class NewDatasetForm(NamespaceForm, DatasetForm):
    """A data set without an entry."""

    slug = forms.CharField(
        label="Name",
        max_length=96,
        help_text="Lower-case letters, digits, hyphen, underscore. Permanent.",
    )
    field_order = ("namespace", "slug", "title")
