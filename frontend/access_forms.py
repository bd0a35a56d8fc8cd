"""What people type on the pages of a model's settings and of access to its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from frontend.forms import Named
from registry.models import RegisteredModel
from registry.services import access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from registry.models import Namespace


class MoveForm(forms.Form):
    """The name that a model shall have."""

    namespace = forms.ChoiceField(label="Namespace")
    name = Named(label="Name", max_length=96)

    def __init__(self, *args: Any, namespaces: Sequence[Namespace] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["namespace"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(namespace.slug, namespace.slug) for namespace in namespaces]


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
