"""Signing in by the stages of django-allauth, signing up, and invitations."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import EmailAddress, Login
from allauth.account.views import PasswordResetView
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.webauthn.views import AddWebAuthnView, ReauthenticateWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from frontend.pages.identity.adapters import expect_mail, public_url
from frontend.pages.identity.forms import AddressForm, InvitationForm, NewAccountForm
from frontend.pages.people import account_views
from frontend.parts.addresses import whole
from frontend.presenters.forms import explained, page
from hub.counting import plural
from hub.protocol import problems
from registry.core.permissions import require_admin
from registry.identity import factor_rules, invitations
from registry.models import Invitation, User

View = Callable[..., HttpResponseBase]


class SignIn(account_views.SignIn):
    """Name and password; then whatever else the account asks for."""

    def enter(self, form: AuthenticationForm) -> HttpResponse:
        return _enter(self.request, form.get_user(), redirect_url=self.get_success_url())


def needs_mail(view: View) -> View:
    """The view, on a hub that sends mail."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if settings.HUB_MAIL_SERVER is None:
            raise problems.NotFound("This hub sends no mail. Ask an administrator.")
        return view(request, *args, **kwargs)

    return guarded


class PasswordReset(PasswordResetView):  # type: ignore[misc]
    """Ask for a link to set a new password."""

    def form_valid(self, form: Any) -> HttpResponse:
        expect_mail(self.request, form.cleaned_data["email"])
        response: HttpResponse = super().form_valid(form)
        return response


class Authenticate(AuthenticateView):  # type: ignore[misc]
    """Ask for the second factor of a sign-in."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return _with_options(super().get_context_data(**kwargs), "request_options")


class Factors(IndexView):  # type: ignore[misc]
    """The second factors of one's account."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"is_required": factor_rules.is_due(self.request.user)}


class AddPasskey(AddWebAuthnView):  # type: ignore[misc]
    """Add a passkey to one's account."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return _with_options(super().get_context_data(**kwargs), "creation_options")


class ConfirmByPasskey(ReauthenticateWebAuthnView):  # type: ignore[misc]
    """Ask for a passkey before a change of one's account."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return _with_options(super().get_context_data(**kwargs), "request_options")


@needs_mail
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Ask for a link to make an account; the answer is the same whether there is one already."""
    form = AddressForm(request.POST or None)
    is_sent = False
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        with explained(form):
            if not invitations.is_open_to(email):
                raise problems.NotAllowed("This hub gives no account to this address.")
            expect_mail(request, email)
            owner = User.objects.filter(email__iexact=email, is_active=True).first()
            _send_link(email, owner)
            is_sent = True
    return page(
        request, "identity/sign_up.html", form, {"mode": settings.HUB_SIGN_UP, "is_sent": is_sent}
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_account(request: HttpRequest, secret: str) -> HttpResponse:
    """The page of an invitation: choose a name and a password, and be signed in."""
    invitation = invitations.of(secret)
    form = NewAccountForm(request.POST or None, email=invitation.email)
    if request.method == "POST" and form.is_valid():
        with explained(form):
            with transaction.atomic():
                user = invitations.accept(invitation=invitation, **form.cleaned_data)
                # The link came by mail to this address.
                EmailAddress.objects.create(
                    user=user, email=invitation.email, verified=True, primary=True
                )
            return _enter(request, user, redirect_url=reverse("home"))
    return page(request, "identity/new_account.html", form, {"invitation": invitation})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_list(request: HttpRequest) -> HttpResponse:
    """The pending invitations, and the form for more."""
    require_admin(request.user)
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with explained(form):
            _invite(request, **form.cleaned_data)
            return HttpResponseRedirect(reverse("invitations"))
        # Who is invited already is in the list; the form keeps the others.
        pending = set(invitations.pending(request.user).values_list("email", flat=True))
        unsent = [each for each in form.cleaned_data["emails"] if each.lower() not in pending]
        form.data = {**form.data.dict(), "emails": "\n".join(unsent)}
    rows = invitations.pending(request.user)
    context = {"rows": rows, "mode": settings.HUB_SIGN_UP, "days": invitations.DAYS}
    return page(request, "identity/invitations.html", form, context)


@login_required
@require_POST
def revoke_invitation(request: HttpRequest, invitation_id: str) -> HttpResponse:
    """Revoke an invitation."""
    row = problems.expect(
        invitations.pending(request.user).filter(pk=whole(invitation_id, 18) or 0).first(),
        problems.NotFound("There is no such invitation. It may have been accepted."),
    )
    invitations.revoke(request.user, invitation=row)
    messages.success(request, f"The invitation of {row.email} is revoked.")
    return HttpResponseRedirect(reverse("invitations"))


def _with_options(context: dict[str, Any], name: str) -> dict[str, Any]:
    """The context, with what the browser is asked for as JSON of an attribute."""
    return context | {"options": json.dumps(context["js_data"][name], cls=DjangoJSONEncoder)}


def _enter(request: HttpRequest, user: User, *, redirect_url: str) -> HttpResponse:
    """Sign a user in whose password is right, by the stages of allauth: second factors come now."""
    login = Login(user=user, redirect_url=redirect_url)
    response: HttpResponse = perform_password_login(request, {"username": user.username}, login)
    return response


def _invite(request: HttpRequest, emails: list[str], **role: Any) -> None:
    """Send invitations, and say how many were sent, also where the mail server stops."""
    sent = 0
    try:
        for email in emails:
            _send_invitation(*invitations.invite(request.user, email=email, **role))
            sent += 1
    finally:
        if sent:
            messages.success(request, f"{plural(sent, 'invitation')} sent.")


def _send_link(email: str, owner: User | None) -> None:
    if owner is not None:
        values = {"user": owner, "url": public_url("account_reset_password")}
        get_adapter().send_mail("identity/email/account_exists", email, values)
        return
    _send_invitation(*invitations.request(email=email))


def _send_invitation(invitation: Invitation, secret: str) -> None:
    """Send the link of an invitation, which does not stay where that fails."""
    url = public_url("new-account", secret=secret)
    values = {"invitation": invitation, "url": url, "days": invitations.DAYS}
    try:
        get_adapter().send_mail("identity/email/invitation", invitation.email, values)
    except problems.Unavailable:
        invitation.delete()
        raise
