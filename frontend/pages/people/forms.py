"""What is typed about namespaces, their members, and accounts; services say what is allowed."""

from __future__ import annotations

from django import forms

from frontend.presenters.forms import Named
from registry.models import Membership
from registry.people.services.service_accounts import LONGEST_NAME, SERVICE_ROLES

ROLES = (
    ("reader", "reader: view and download private models"),
    ("writer", "writer: create drafts, upload, submit"),
    ("maintainer", "maintainer: publish, yank, move aliases"),
    ("owner", "owner: manage members, withdraw and delete models"),
)
MEGABYTE = 10**6


class NamespaceForm(forms.Form):
    """An organisation to be made."""

    slug = Named(
        label="Name",
        max_length=96,
        help_text="Letters, digits, dot, hyphen, underscore. Permanent.",
    )
    display_name = forms.CharField(
        label="Full name", max_length=200, required=False, help_text="Display name."
    )


class MemberForm(forms.Form):
    """The role of a member."""

    username = forms.CharField(label="User", max_length=150, help_text="User name on this hub.")
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=Membership.Role.READER.value)


class ServiceAccountForm(forms.Form):
    """A service account of an organisation."""

    name = Named(
        label="Name",
        max_length=LONGEST_NAME,
        help_text="For example ci. Letters, digits, dot, hyphen, underscore. Permanent.",
    )
    role = forms.ChoiceField(
        label="Role", choices=[role for role in ROLES if role[0] in SERVICE_ROLES], initial="writer"
    )


class QuotaForm(forms.Form):
    """The room of a namespace."""

    megabytes = forms.IntegerField(
        label="Quota in MB",
        required=False,
        min_value=0,
        max_value=10**12,
        help_text="Empty: the default quota of the hub.",
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
        help_text="Letters, digits, dot, hyphen, underscore. Also the name of their namespace.",
    )
    email = forms.EmailField(label="E-mail", max_length=254, required=False)
