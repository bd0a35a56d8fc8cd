"""How django-allauth acts on this hub: whose limits count, who sends mail, what is recorded."""

from __future__ import annotations

import time
from ipaddress import ip_address
from smtplib import SMTPException
from typing import Any
from urllib.parse import urljoin

import structlog
from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows import reauthentication
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from frontend.pages.identity import providers
from hub.protocol import problems
from registry.api import sign_in, throttles
from registry.core import directories, rates
from registry.identity.scim import groups as scim_groups
from registry.models import User
from registry.people.services import users

log = structlog.get_logger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in and mail; accounts are made by invitations alone."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address as HUB_PROXIES lets it be believed; one without numbers is 0.0.0.0."""
        address = throttles.client_address(request)
        try:
            return str(ip_address(address))
        except ValueError:
            return "0.0.0.0"  # noqa: S104 - stands for none

    def reauthenticate(self, user: User, password: str) -> bool:
        """Whether it is the user's password, within the limits of decision 35."""
        return sign_in.confirm(context.request, user, password)

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        """How a user confirms who they are: allauth's ways, or the password of the directory."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if methods or not directories.knows(user):
            return methods
        url = reverse("account_reauthenticate")
        return [{"id": "reauthenticate", "description": "Use your password", "url": url}]

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Whether it is asked for; allauth forgets the answer of accounts without a password."""
        request = context.request
        if reauthentication.get_reauthentication_flows(request.user) or not directories.knows(
            request.user
        ):
            return bool(super().is_reauthentication_required(app=app, **kwargs))
        times = [
            record["at"]
            for record in get_authentication_records(request, request.user)
            if record.get("reauthenticated")
        ]
        return not times or time.time() - times[-1] >= app_settings.REAUTHENTICATION_TIMEOUT

    def set_password(self, user: User, password: str) -> None:
        """Set a password that a link of a mail asked for; tokens are revoked."""
        users.change_password(user, password=password, revoke_tokens=True)

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Log the sign-in, give the browser the device cookie (decision 35), and follow groups."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        sign_in.complete(request, response, user)
        provided = (kwargs.get("signal_kwargs") or {}).get("sociallogin")
        if provided and not scim_groups.decide_roles(user):
            providers.follow_groups(user, provided)
        return response

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _, secret = key.partition("-")
        return public_url("account_reset_password_from_key", uidb36=uid, key=secret)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return public_url("account_confirm_email", key=emailconfirmation.key)

    def send_confirmation_mail(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Send a link that confirms an address, within the limit on mails."""
        confirmation = args[0] if args else kwargs["emailconfirmation"]
        expect_mail(request, confirmation.email_address.email)
        super().send_confirmation_mail(request, *args, **kwargs)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail; raises Unavailable where the server does not take it."""
        if settings.HUB_MAIL_SERVER is None:
            return
        values = context | {"email": email, "public_url": settings.HUB_PUBLIC_URL}
        try:
            self.render_mail(template_prefix, email, values).send()
        except (SMTPException, OSError) as error:
            log.warning("mail_not_sent", template=template_prefix, error=str(error))
            raise problems.Unavailable(
                "The mail could not be sent. Nothing was changed. Try again later, or ask an "
                "administrator to look at the mail server.",
                retry_after=60,
            ) from None


def public_url(name: str, **arguments: str) -> str:
    """The address of a page as links of mails have it, whatever host a request named."""
    return urljoin(settings.HUB_PUBLIC_URL, reverse(name, kwargs=arguments))


def expect_mail(request: HttpRequest, email: str) -> None:
    """Count a mail that a request asks for; raises Throttled beyond HUB_LIMITS_MAIL_RATE."""
    rate = rates.Rate.parse(settings.HUB_LIMITS_MAIL_RATE)
    keys = (sign_in.digest(email.lower()), sign_in.digest(throttles.address_of(request)))
    try:
        rates.reserve([rates.Limit(f"mail:{key}", rate) for key in keys])
    except rates.RateExceededError as error:
        raise problems.Throttled(
            "Too many mails were asked for. Look into your inbox, or try again later.",
            retry_after=error.seconds,
        ) from None
