"""The service accounts of an organisation and their tokens, for its owners."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from frontend.pages.people.forms import ServiceAccountForm
from frontend.presenters.forms import TokenForm, page
from hub.protocol import problems
from registry.core.permissions import require
from registry.models import Namespace, User
from registry.people import selectors
from registry.people.services import service_accounts


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The service accounts of an organisation, and the form for one more."""
    space = _owned(request, slug)
    form = ServiceAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            account = service_accounts.create(request.user, namespace=space, **form.cleaned_data)
            return _to(account)
        except (problems.InvalidName, problems.NameTaken, problems.StateConflict) as problem:
            form.add_error("name", problem.detail)
    rows = selectors.service_accounts(request.user, space)
    return page(request, "people/service_accounts.html", form, {"namespace": space, "rows": rows})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """A service account with its tokens; a new token is in this one answer and nowhere else."""
    account = _account(request, slug, username)
    form = TokenForm(request.POST if "name" in request.POST else None)
    token = secret = None
    if request.method == "POST" and "role" in request.POST:
        service_accounts.edit(request.user, account=account, role=request.POST["role"])
        messages.success(request, f"{account.username} now has the role {request.POST['role']}.")
        return _to(account)
    if request.method == "POST" and form.is_valid():
        fields = form.values
        if fields.pop("namespaces"):
            form.add_error("limits", f"Name models of {slug}, or none for all of them.")
        else:
            try:
                token, secret = service_accounts.create_token(
                    request.user, account=account, **fields
                )
                form = TokenForm()
            except (problems.InvalidRequest, problems.NotFound) as problem:
                form.add_error(None, problem.detail)
    context: dict[str, Any] = {
        "account": account,
        "namespace": account.service_of,
        "roles": service_accounts.SERVICE_ROLES,
        "made": token,
        "secret": secret,
        "tokens": selectors.service_tokens(request.user, account),
    }
    return page(request, "people/service_account.html", form, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Ask once; then close the account."""
    account = _account(request, slug, username)
    if request.method != "POST":
        return render(request, "people/close_service_account.html", {"account": account})
    service_accounts.close(request.user, account=account)
    messages.success(request, f"The service account {account.username} is closed.")
    return HttpResponseRedirect(reverse("service-accounts", args=[slug]))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, slug: str, username: str, token_id: int) -> HttpResponse:
    """Ask once, naming the token; then revoke it."""
    account = _account(request, slug, username)
    token = problems.expect(
        selectors.service_tokens(request.user, account).filter(pk=token_id).first(),
        problems.NotFound("Token not found. It may already be revoked."),
    )
    if request.method != "POST":
        back = reverse("service-account", args=[slug, username])
        return render(request, "account/revoke.html", {"token": token, "back": back})
    service_accounts.revoke_token(request.user, account=account, token_id=token_id)
    messages.success(request, f"Token {token.name} is revoked.")
    return _to(account)


def _owned(request: HttpRequest, slug: str) -> Namespace:
    space = selectors.own_namespace(request.user, slug)
    require(request.user, "member.edit", space)
    return space


def _account(request: HttpRequest, slug: str, username: str) -> User:
    return selectors.service_account(request.user, _owned(request, slug), username)


def _to(account: User) -> HttpResponse:
    space = service_accounts.of(account)
    return HttpResponseRedirect(reverse("service-account", args=[space.slug, account.username]))
