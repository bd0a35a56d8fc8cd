"""How django-allauth signs people in with the OpenID provider of the settings."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from registry.core import events
from registry.identity import accounts
from registry.models import User

PROVIDER = "oidc"


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """One provider, from settings alone, so that no page asks the database for it."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        if not settings.HUB_OIDC_ISSUER or provider not in (None, "openid_connect", PROVIDER):
            return []
        return [
            SocialApp(
                provider="openid_connect",
                provider_id=PROVIDER,
                name=settings.HUB_OIDC_NAME,
                client_id=settings.HUB_OIDC_CLIENT_ID,
                secret=settings.HUB_OIDC_CLIENT_SECRET,
                settings={"server_url": settings.HUB_OIDC_ISSUER, "oauth_pkce_enabled": True},
            )
        ]

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return bool(settings.HUB_OIDC_ACCOUNTS)

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse a second account for an address: an address alone is no way into an account.

        Raises StateConflict. Its owner connects the two under Account.
        """
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        emails = [each.email for each in sociallogin.email_addresses]
        accounts.expect_free(emails, title=settings.HUB_OIDC_NAME)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        """Make an account, with a name that is free and the address that the provider confirmed."""
        emails = [each for each in sociallogin.email_addresses if each.verified][:1]
        email = emails[0].email if emails else ""
        with transaction.atomic():
            name = str(_claim(sociallogin, "preferred_username") or email.partition("@")[0])
            user = accounts.create(name, email)
            sociallogin.user, sociallogin.email_addresses = user, emails
            sociallogin.save(request)
            events.record("user.created", user, actor=user)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")


def groups_of(sociallogin: Any) -> list[str]:
    """The groups that the provider names for a user."""
    value = _claim(sociallogin, settings.HUB_OIDC_GROUPS_CLAIM) or []
    return [str(each) for each in (value if isinstance(value, list) else [value])]


def _claim(sociallogin: Any, name: str) -> Any:
    """What the provider says of a user, at its endpoint or in the token; None for nothing."""
    claims = sociallogin.account.extra_data
    parts = [claims.get(part) or {} for part in ("userinfo", "id_token")]
    return next((part[name] for part in parts if part.get(name) is not None), None)
