"""Addresses of accounts, under names of django-allauth where its code looks for them."""

from __future__ import annotations

from typing import Any

from allauth.account import views as allauth_views
from allauth.mfa.base import views as mfa_views
from allauth.mfa.recovery_codes import views as code_views
from allauth.mfa.totp import views as totp_views
from allauth.mfa.webauthn import views as passkey_views
from django.contrib.auth.decorators import login_required
from django.urls import path, re_path, reverse_lazy
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView

from frontend.pages.identity import (
    account_data,
    directory,
    openid,
    provisioning,
    saml,
    security_log,
    sessions,
    views,
)
from frontend.pages.identity.views import needs_mail
from registry.api.guests import for_guests
from registry.api.parameters import accepts


def form(view: type[Any], title: str, button: str = "", words: str = "", **more: Any) -> Any:
    """A page of allauth with one form, or with words alone."""
    context = {"title": title, "button": button, "words": words}
    return view.as_view(template_name="identity/form.html", extra_context=context, **more)


def writes(view: Any) -> Any:
    """The view, whose reads write: it keeps in the session what a link or another site brings."""
    view.writes_on_read = True
    return view


urlpatterns = [
    path("login", for_guests(views.SignIn.as_view()), name="account_login"),
    path(
        "login/inactive",
        for_guests(form(allauth_views.AccountInactiveView, "This account is closed")),
        name="account_inactive",
    ),
    path(
        "login/reset",
        for_guests(
            needs_mail(
                form(
                    views.PasswordReset,
                    "Set a new password",
                    "Send link",
                    "Type the e-mail address of your account. A link to set a new password is sent "
                    "there.",
                )
            )
        ),
        name="account_reset_password",
    ),
    path(
        "login/reset/sent",
        for_guests(
            form(
                allauth_views.PasswordResetDoneView,
                "Look into your inbox",
                words="The mail has a link to set a new password, or says that no account has this "
                "address.",
            )
        ),
        name="account_reset_password_done",
    ),
    path(
        "login/reset/done",
        for_guests(
            form(
                allauth_views.PasswordResetFromKeyDoneView,
                "Your password is set",
                words="Your sessions have ended and your access tokens are revoked. Sign in with "
                "the new password.",
            )
        ),
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^login/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)$",
        for_guests(
            writes(
                form(
                    allauth_views.PasswordResetFromKeyView,
                    "Set a new password",
                    "Set password",
                )
            )
        ),
        name="account_reset_password_from_key",
    ),
    path("login/with/saml", for_guests(saml.begin), name="saml_login"),
    path("login/with/saml/acs", for_guests(saml.answer), name="saml_acs"),
    path("login/with/saml/metadata", for_guests(saml.metadata), name="saml_metadata"),
    path(
        "login/with/<str:provider_id>",
        for_guests(require_POST(openid.login)),
        name="openid_connect_login",
    ),
    path(
        "login/with/<str:provider_id>/callback",
        for_guests(writes(openid.callback)),
        name="openid_connect_callback",
    ),
    path(
        "login/cancelled",
        for_guests(RedirectView.as_view(pattern_name="login")),
        name="socialaccount_login_cancelled",
    ),
    path("account/new", for_guests(accepts()(views.sign_up)), name="account_signup"),
    path("account/new/<str:secret>", for_guests(views.new_account), name="new-account"),
    path(
        "account/email",
        needs_mail(writes(allauth_views.EmailView.as_view())),
        name="account_email",
    ),
    path(
        "account/email/sent",
        for_guests(
            form(
                allauth_views.EmailVerificationSentView,
                "Look into your inbox",
                words="The mail has a link that confirms the address.",
            )
        ),
        name="account_email_verification_sent",
    ),
    re_path(
        r"^account/email/(?P<key>[-:\w]+)$",
        for_guests(form(allauth_views.ConfirmEmailView, "Confirm your e-mail address", "Confirm")),
        name="account_confirm_email",
    ),
    path(
        "account/confirm",
        login_required(
            form(
                allauth_views.ReauthenticateView,
                "Confirm that it is you",
                "Continue",
                "Type your password once more before you change how people sign in to your "
                "account.",
            )
        ),
        name="account_reauthenticate",
    ),
    path(
        "account/confirm/code",
        login_required(
            form(
                mfa_views.ReauthenticateView,
                "Confirm that it is you",
                "Continue",
                "Type the code of your authenticator app, or a recovery code.",
            )
        ),
        name="mfa_reauthenticate",
    ),
    path(
        "account/confirm/passkey",
        writes(login_required(views.ConfirmByPasskey.as_view())),
        name="mfa_reauthenticate_webauthn",
    ),
    path("login/code", for_guests(writes(views.Authenticate.as_view())), name="mfa_authenticate"),
    path("account/factors", views.Factors.as_view(), name="mfa_index"),
    path(
        "account/factors/app",
        writes(login_required(totp_views.ActivateTOTPView.as_view())),
        name="mfa_activate_totp",
    ),
    path(
        "account/factors/app/off",
        login_required(
            form(
                totp_views.DeactivateTOTPView,
                "Turn the authenticator app off?",
                "Turn off",
                "Sign-in will no longer ask for its codes.",
            )
        ),
        name="mfa_deactivate_totp",
    ),
    path(
        "account/factors/codes",
        writes(login_required(code_views.ViewRecoveryCodesView.as_view())),
        name="mfa_view_recovery_codes",
    ),
    path(
        "account/factors/codes/new",
        login_required(
            form(
                code_views.GenerateRecoveryCodesView,
                "Make new recovery codes?",
                "Make new codes",
                "The present codes stop working.",
            )
        ),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "account/factors/passkeys/new",
        writes(login_required(views.AddPasskey.as_view())),
        name="mfa_add_webauthn",
    ),
    path(
        "account/factors/passkeys/<int:pk>/remove",
        login_required(
            form(
                passkey_views.RemoveWebAuthnView,
                "Remove this passkey?",
                "Remove",
                "Sign-in no longer accepts it.",
                success_url=reverse_lazy("mfa_index"),
            )
        ),
        name="mfa_remove_webauthn",
    ),
    path("account/directory", directory.connect, name="directory-connect"),
    path("account/data", account_data.show, name="account-data"),
    path("account/data/export", account_data.export, name="account-data-export"),
    path("account/sessions", sessions.show, name="sessions"),
    path("account/sessions/end-others", sessions.end_others, name="sessions-end-others"),
    path("account/sessions/<str:session_id>/end", sessions.end, name="session-end"),
    path(
        "administration/accounts/<str:username>/sessions/end",
        sessions.end_others,
        name="user-sessions-end",
    ),
    path(
        "administration/accounts/<str:username>/sessions/<str:session_id>/end",
        sessions.end,
        name="user-session-end",
    ),
    path("administration/invitations", views.invitation_list, name="invitations"),
    path(
        "administration/invitations/<str:invitation_id>/revoke",
        views.revoke_invitation,
        name="invitation-revoke",
    ),
    path("administration/provisioning", provisioning.show, name="provisioning"),
    path(
        "administration/provisioning/<int:token_id>/revoke",
        provisioning.revoke,
        name="provisioning-revoke",
    ),
    path("administration/security-log", security_log.show, name="security-log"),
]
