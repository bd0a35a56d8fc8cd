"""Where administrators connect identity providers that provision accounts over SCIM."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from frontend.presenters.forms import Named, explained, page
from hub.protocol import problems
from registry.identity.api.scim import addresses
from registry.identity.scim import clients


class ProviderForm(forms.Form):
    """The identity provider that a token is for."""

    name = Named(
        label="Identity provider",
        max_length=clients.LONGEST_NAME,
        help_text="A name of your choice, for example entra. Logs show it as scim+entra.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """The tokens of identity providers; a new one is in this one answer and nowhere else."""
    tokens = clients.tokens_of(request.user)
    form = ProviderForm(request.POST or None)
    token = secret = None
    if request.method == "POST" and form.is_valid():
        with explained(form):
            token, secret = clients.create_token(request.user, name=form.cleaned_data["name"])
            form = ProviderForm()
    context = {"address": addresses.base_url(), "made": token, "secret": secret, "tokens": tokens}
    return page(request, "identity/provisioning.html", form, context)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Ask once, naming the token; then revoke it."""
    token = problems.expect(
        clients.tokens_of(request.user).filter(pk=token_id).first(),
        problems.NotFound("Token not found. It may already be revoked."),
    )
    back = reverse("provisioning")
    if request.method != "POST":
        return render(request, "identity/revoke_provisioning.html", {"token": token, "back": back})
    clients.revoke_token(request.user, token_id=token_id)
    messages.success(request, f"The token of {token.name} is revoked.")
    return HttpResponseRedirect(back)
