"""How django-allauth signs people in with the OpenID and SAML providers of the settings."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from registry.core import events
from registry.identity import accounts, groups
from registry.identity.scim import users as scim_users
from registry.models import User

OIDC = "oidc"
SAML = "saml"
# Where the session keeps what the ID token of a sign-in must repeat.
NONCE = "openid_nonce"


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """One provider of each kind, from settings alone, so that no page asks the database for it."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        apps = []
        if settings.HUB_OIDC_ISSUER and provider in (None, "openid_connect", OIDC):
            apps.append(_openid_app(request.session.get(NONCE, "")))
        if settings.HUB_SAML_ISSUER and provider in (None, SAML):
            apps.append(_saml_app())
        return apps

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        if _is_saml(sociallogin):
            return bool(settings.HUB_SAML_ACCOUNTS)
        return bool(settings.HUB_OIDC_ACCOUNTS)

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse a second account for an address: an address alone is no way into an account.

        The exception is an account that SCIM made, for an address that the provider has confirmed:
        it is connected. Raises StateConflict. Others are connected by their owner under Account.
        """
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        confirmed = [each.email for each in sociallogin.email_addresses if each.verified]
        user = scim_users.account_of(confirmed)
        if user and not _is_connected(user, sociallogin.account.provider):
            sociallogin.connect(request, user)
            return
        emails = [each.email for each in sociallogin.email_addresses]
        title = settings.HUB_SAML_NAME if _is_saml(sociallogin) else settings.HUB_OIDC_NAME
        accounts.expect_free(emails, title=title)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        """Make an account, with a name that is free and the address that the provider confirmed."""
        emails = [each for each in sociallogin.email_addresses if each.verified][:1]
        email = emails[0].email if emails else ""
        with transaction.atomic():
            name = _name_of(sociallogin) or email.partition("@")[0]
            user = accounts.create_named_like(name, email=email)
            sociallogin.user, sociallogin.email_addresses = user, emails
            sociallogin.save(request)
            events.record("user.created", user, actor=user)
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")


def follow_groups(user: User, sociallogin: Any) -> None:
    """Give and take the roles of the groups that the provider names for a user."""
    if _is_saml(sociallogin):
        names = _values(sociallogin, settings.HUB_SAML_GROUPS_ATTRIBUTE)
        groups.follow(user, names, settings.HUB_SAML_GROUPS)
    else:
        value = _claim(sociallogin, settings.HUB_OIDC_GROUPS_CLAIM) or []
        names = [str(each) for each in (value if isinstance(value, list) else [value])]
        groups.follow(user, names, settings.HUB_OIDC_GROUPS)


def _openid_app(nonce: str) -> SocialApp:
    return SocialApp(
        provider="openid_connect",
        provider_id=OIDC,
        name=settings.HUB_OIDC_NAME,
        client_id=settings.HUB_OIDC_CLIENT_ID,
        secret=settings.HUB_OIDC_CLIENT_SECRET,
        settings={
            "server_url": settings.HUB_OIDC_ISSUER,
            "oauth_pkce_enabled": True,
            "auth_params": {"nonce": nonce},
        },
    )


def _saml_app() -> SocialApp:
    """What allauth reads attributes by; ``registry.identity.saml`` names the subject."""
    names = {"email": [settings.HUB_SAML_MAIL_ATTRIBUTE]}
    return SocialApp(
        provider="saml",
        provider_id=SAML,
        name=settings.HUB_SAML_NAME,
        client_id=SAML,
        settings={"attribute_mapping": names},
    )


def _is_saml(sociallogin: Any) -> bool:
    return bool(sociallogin.account.provider == SAML)


def _name_of(sociallogin: Any) -> str:
    """The name that the provider gives a user, empty for none."""
    if _is_saml(sociallogin):
        return next(iter(_values(sociallogin, settings.HUB_SAML_NAME_ATTRIBUTE)), "")
    return str(_claim(sociallogin, "preferred_username") or "")


def _values(sociallogin: Any, name: str) -> list[str]:
    """The values of an attribute of a SAML assertion."""
    values: list[str] = sociallogin.account.extra_data.get(name, [])
    return values


def _is_connected(user: User, provider: str) -> bool:
    """Whether an account is that of a subject of the provider already."""
    return bool(SocialAccount.objects.filter(user=user, provider=provider).exists())


def _claim(sociallogin: Any, name: str) -> Any:
    """What an OpenID provider says of a user, at its endpoint or in the token; None for nothing."""
    claims = sociallogin.account.extra_data
    parts = [claims.get(part) or {} for part in ("userinfo", "id_token")]
    return next((part[name] for part in parts if part.get(name) is not None), None)
