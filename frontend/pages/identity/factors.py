"""Second factors of django-allauth under the limits of this hub, with sealed secrets."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from django import forms
from django.conf import settings

from registry.api import sign_in
from registry.core import sealing

_PURPOSE = b"second factors"


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Seals secrets, and names the hub by its public address."""

    def encrypt(self, text: str) -> str:
        return sealing.seal(text, _PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.unseal(encrypted_text, _PURPOSE)

    def get_totp_label(self, user: Any) -> str:
        return str(user.username)

    def _get_site_name(self) -> str:
        return urlsplit(settings.HUB_PUBLIC_URL).netloc


class _CountedCode(forms.Form):
    """Counts wrong codes of an account together with its wrong passwords (decision 35)."""

    user: Any

    def clean_code(self) -> str:
        """The code; raises Throttled."""
        refusal = None
        with sign_in.attempt(context.request, self.user.username) as attempt:
            try:
                code: str = super().clean_code()  # type: ignore[misc]
                attempt.succeeded = True
            except forms.ValidationError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        return code


class CodeForm(_CountedCode, AuthenticateForm):  # type: ignore[misc]
    """The code that sign-in asks for."""


class ConfirmForm(_CountedCode, ReauthenticateForm):  # type: ignore[misc]
    """The code that a change of an account asks for."""
