"""What is typed about namespaces, their members, and accounts; services say what is allowed."""

from __future__ import annotations

from django import forms

from frontend.presenters.forms import Named
from registry.models import Membership

ROLES = (
    ("reader", "reader: sees and downloads what is private"),
    ("writer", "writer: makes drafts, uploads, submits"),
    ("maintainer", "maintainer: publishes, yanks, moves aliases"),
    ("owner", "owner: members, withdrawing, deleting models"),
)
MEGABYTE = 10**6


class NamespaceForm(forms.Form):
    """An organisation to be made."""

    slug = Named(
        label="Name", max_length=96, help_text="Letters, digits, dot, hyphen, underscore. For ever."
    )
    display_name = forms.CharField(
        label="Full name", max_length=200, required=False, help_text="As people write it."
    )


class MemberForm(forms.Form):
    """Somebody's role."""

    username = forms.CharField(
        label="User", max_length=150, help_text="Who has an account on this hub."
    )
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=Membership.Role.READER.value)


class QuotaForm(forms.Form):
    """The room of a namespace."""

    megabytes = forms.IntegerField(
        label="Quota in MB",
        required=False,
        min_value=0,
        max_value=10**12,
        help_text="Empty for the hub's preset.",
    )

    def quota(self) -> int | None:
        """The quota in bytes; None for the preset."""
        megabytes = self.cleaned_data["megabytes"]
        return None if megabytes is None else megabytes * MEGABYTE


class UserForm(forms.Form):
    """An account to be made."""

    username = Named(
        label="Name",
        max_length=96,
        help_text="Letters, digits, dot, hyphen, underscore. Their namespace gets it too.",
    )
    email = forms.EmailField(label="E-mail", max_length=254, required=False)
