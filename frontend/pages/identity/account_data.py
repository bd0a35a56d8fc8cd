"""The page on which users download what the hub holds about them, or erase their account."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from frontend.presenters.forms import explained, page
from registry.api import sign_in
from registry.core.permissions import require_user
from registry.identity import account_data
from registry.models import User


class ErasureForm(forms.Form):
    """What shows that the user means it: their name, and their password if they have one."""

    username = forms.CharField(
        label="Your user name", max_length=150, widget=forms.TextInput({"autocomplete": "off"})
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, request: HttpRequest, user: User) -> None:
        super().__init__(request.POST or None)
        self._request, self._user = request, user
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_username(self) -> str:
        name = str(self.cleaned_data["username"])
        if name != self._user.username:
            raise forms.ValidationError("This is not the name of your account.")
        return name

    def clean_password(self) -> str:
        """Check the password, within the limits on failed sign-ins; raises Throttled."""
        password = str(self.cleaned_data["password"])
        if not sign_in.confirm(self._request, self._user, password):
            raise forms.ValidationError("The password is wrong.")
        return password


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """What the page offers; a POST erases the account and signs out."""
    user = require_user(request.user, "admin")
    form = ErasureForm(request, user)
    if request.method == "POST" and form.is_valid():
        with explained(form):
            account_data.erase(user, user=user)
            logout(request)
            messages.success(request, "Your account is erased.")
            return HttpResponseRedirect(reverse("home"))
    context = {"remains": account_data.remains_of(user)}
    return page(request, "identity/account_data.html", form, context)


@never_cache
@login_required
@require_POST
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Everything about the reader, as a file of JSON."""
    pieces = account_data.export(request.user)
    name = f"{request.user.username}.json"
    response = StreamingHttpResponse(pieces, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
