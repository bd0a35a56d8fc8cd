"""What people type to come to an account, and to keep it safe."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import password_validation

from frontend.presenters.forms import Named, offer
from registry.models import Membership, Namespace, User

LONGEST_EMAIL = 254
MOST_INVITATIONS = 50


class AddressForm(forms.Form):
    """The e-mail address to which a link goes."""

    email = forms.EmailField(
        label="E-mail",
        max_length=LONGEST_EMAIL,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


class AddressesField(forms.CharField):
    """E-mail addresses between spaces, commas or lines; each once, in the order as typed."""

    widget = forms.Textarea

    def clean(self, value: str) -> list[str]:
        """The addresses; raises ValidationError, which names those that are none."""
        addresses = list(dict.fromkeys(super().clean(value).replace(",", " ").split()))
        if len(addresses) > MOST_INVITATIONS:
            raise forms.ValidationError(f"Invite at most {MOST_INVITATIONS} people at once.")
        if wrong := [address for address in addresses if not _is_address(address)]:
            raise forms.ValidationError(f"Not an e-mail address: {', '.join(wrong)}.")
        return addresses


class InvitationForm(forms.Form):
    """Invitations, perhaps to a role in a namespace."""

    emails = AddressesField(
        label="E-mail addresses",
        max_length=MOST_INVITATIONS * (LONGEST_EMAIL + 2),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=f"One a line, at most {MOST_INVITATIONS}.",
    )
    namespace = forms.ChoiceField(label="Namespace", required=False)
    role = forms.ChoiceField(label="Role there", choices=Membership.Role.choices)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        slugs = Namespace.objects.filter(kind=Namespace.Kind.ORG).values_list("slug", flat=True)
        offer(self, "namespace", [("", "none"), *((slug, slug) for slug in slugs)])

    def clean_namespace(self) -> Namespace | None:
        return Namespace.objects.filter(slug=self.cleaned_data["namespace"]).first()


class NewAccountForm(forms.Form):
    """The name and the password of an account to be made."""

    username = Named(
        label="User name",
        max_length=96,
        help_text="Letters, digits, dot, hyphen, underscore. Also the name of your namespace.",
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        help_text=" ".join(password_validation.password_validators_help_texts()),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean(self) -> dict[str, Any]:
        """Hold the password against the rules, with the name and the address."""
        user = User(username=self.cleaned_data.get("username", ""), email=self._email)
        if password := self.cleaned_data.get("password"):
            try:
                password_validation.validate_password(password, user)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return self.cleaned_data


def _is_address(text: str) -> bool:
    try:
        forms.EmailField(max_length=LONGEST_EMAIL).clean(text)
    except forms.ValidationError:
        return False
    return True
