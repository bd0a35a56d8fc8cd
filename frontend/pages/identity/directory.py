"""Connecting one's account with one's entry in the LDAP directory."""

from __future__ import annotations

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from frontend.presenters.forms import explained, page
from hub.protocol import problems
from registry.api import sign_in
from registry.core.permissions import require_user

LONGEST_NAME = 254


class DirectoryForm(forms.Form):
    """The name and the password of a person in the directory."""

    username = forms.CharField(
        label="User name there",
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    password = forms.CharField(
        label="Password there",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest) -> HttpResponse:
    """Connect the account with an entry, whose name and password a POST has."""
    if settings.HUB_LDAP_SERVER is None:
        raise problems.NotFound("This hub has no directory. Ask an administrator.")
    user = require_user(request.user, "admin")
    if is_reauthentication_required(request, app="allauth.socialaccount"):
        if request.method == "POST":  # the session would keep the password of the directory
            return HttpResponseRedirect(request.path)
        raise ReauthenticationRequired
    form = DirectoryForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with explained(form):
            sign_in.connect_directory(request, user, **form.cleaned_data)
            messages.success(request, f"Your account is connected with {settings.HUB_LDAP_NAME}.")
            return HttpResponseRedirect(reverse("account"))
    context = {
        "title": f"Connect with {settings.HUB_LDAP_NAME}",
        "button": "Connect",
        "words": "You can then sign in with your name and password there.",
    }
    return page(request, "identity/form.html", form, context)
