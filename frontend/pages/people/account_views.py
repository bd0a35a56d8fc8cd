"""Signing in and out, the account, and tokens for programs."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from frontend.presenters.forms import PasswordForm, SignInForm, TokenForm, page
from hub.protocol import problems
from registry.api import sign_in
from registry.people import selectors
from registry.people.services import tokens as service
from registry.people.services import users


class SignIn(LoginView):
    template_name = "account/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if not user.is_from_directory:
            users.review_password(user, password=form.cleaned_data["password"])
        return self.enter(form)

    def enter(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in the user whose password was right."""
        response = super().form_valid(form)
        sign_in.complete(self.request, response, form.get_user())
        return response


login = SignIn.as_view()


class SignOut(LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        # The browser forgets pages of the account, also those of its "back" button.
        response["Clear-Site-Data"] = '"cache"'
        return response


logout = SignOut.as_view()


class _Password(PasswordChangeView):
    form_class = PasswordForm
    success_url = reverse_lazy("account")
    template_name = "account/password.html"

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        text = "Your password is changed. All other devices are signed out."
        tokens = len(selectors.tokens(self.request.user))
        if form.cleaned_data["revoke_tokens"]:
            text += " Your access tokens are revoked."
        elif tokens:
            text += " Your access tokens still work; review them under Tokens."
        messages.success(self.request, text)
        return response


password = _Password.as_view()


@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "account/account.html",
        {
            "namespaces": selectors.namespaces_of(request.user),
            "tokens": len(selectors.tokens(request.user)),
        },
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List tokens, and make one; the new token is in this one answer and nowhere else."""
    form = TokenForm(request.POST or None)
    token = secret = None
    if request.method == "POST" and form.is_valid():
        try:
            token, secret = service.create(request.user, **form.values)
            form = TokenForm()
        except (problems.InvalidRequest, problems.NotFound) as problem:
            form.add_error(None, problem.detail)
    context = {"made": token, "secret": secret, "tokens": selectors.tokens(request.user)}
    return page(request, "account/tokens.html", form, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Ask once, naming the token; then revoke it."""
    token = problems.expect(
        next((row for row in selectors.tokens(request.user) if row.pk == token_id), None),
        problems.NotFound("Token not found. It may already be revoked."),
    )
    if request.method != "POST":
        return render(request, "account/revoke.html", {"token": token})
    service.revoke(request.user, token_id=token_id)
    messages.success(request, f"Token {token.name} is revoked.")
    return HttpResponseRedirect(reverse("tokens"))
