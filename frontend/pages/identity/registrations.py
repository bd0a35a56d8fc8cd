"""What sign-up, mail and second factors add to other pages."""

from __future__ import annotations

from typing import Any

from allauth.mfa.signals import authenticator_removed
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.template import Context
from django.urls import reverse

from frontend.pages.identity import notices, sessions
from frontend.pages.identity.providers import OIDC
from frontend.presenters.page_parts import PagePart, Place, page_parts
from registry.core import directories
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.core.required_actions import RequiredAction, required_actions
from registry.core.second_factors import SecondFactors, second_factors
from registry.core.security_log import Keeper, keepers
from registry.identity import factor_rules, groups, invitations
from registry.models import User
from registry.people.services import users

# What the way to a second factor leads over: it asks for the password, which may have to be set.
_FACTOR_PAGES = frozenset(
    {
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_view_recovery_codes",
        "account_reauthenticate",
        "account_login",
        "password",
    }
)


def register(package: str) -> None:
    """Plug into the pages and the hourly cleaning."""
    page_parts.register(
        package,
        PagePart(Place.SIGN_IN, "identity/sign_in.html", _ways),
        PagePart(Place.OWN_ACCOUNT, "identity/account.html", _ways),
        PagePart(Place.USER, "identity/user.html", sessions.of_user),
        PagePart(Place.ADMINISTRATION, "identity/administration.html", _groups),
    )
    keepers.register(package, Keeper(notices.queue))
    second_factors.register(package, SecondFactors(is_mfa_enabled))
    required_actions.register(
        package,
        RequiredAction(
            factor_rules.is_due,
            page="mfa_index",
            words="Your role requires a second factor. Set one up first, on the page Account, "
            "Second factors of the hub.",
            pages=_FACTOR_PAGES,
        ),
    )
    authenticator_removed.connect(_expect_long_password, dispatch_uid=package)
    hourly_tasks.register(
        package,
        HourlyTask("invitations", "Expired invitations deleted", invitations.delete_expired),
    )


def _expect_long_password(user: User, **_: Any) -> None:
    users.expect_long_password(user)


def _groups(context: Context) -> dict[str, Any]:
    """The groups of providers that have roles here."""
    return {"groups": groups.mapped(context["request"].user)}


def _can_confirm(user: Any) -> bool:
    """Whether a user can show once more that it is them, which connecting an account demands."""
    return isinstance(user, User) and (
        user.has_usable_password() or is_mfa_enabled(user) or directories.knows(user)
    )


def _ways(context: Context) -> dict[str, Any]:
    """What this hub offers to people who come to an account."""
    return {
        "can_connect": _can_confirm(context["request"].user),
        "sends_mail": settings.HUB_MAIL_SERVER is not None,
        "providers": [
            (name, address)
            for issuer, name, address in (
                (
                    settings.HUB_OIDC_ISSUER,
                    settings.HUB_OIDC_NAME,
                    reverse("openid_connect_login", args=[OIDC]),
                ),
                (settings.HUB_SAML_ISSUER, settings.HUB_SAML_NAME, reverse("saml_login")),
            )
            if issuer
        ],
        "directory": settings.HUB_LDAP_NAME if settings.HUB_LDAP_SERVER else "",
        "is_open": settings.HUB_SIGN_UP in ("open", "domain"),
    }
