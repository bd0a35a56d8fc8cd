"""The signers of a namespace: a list with a form for owners, and their removal."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters.forms import explain, page
from hub.protocol import problems
from registry.core.permissions import can
from registry.people import selectors as people_selectors
from registry.provenance.signatures import selectors, services

_MOST_PEM = 32 << 10
_PEM = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})


class SignerForm(forms.Form):
    """A key, authorities with a name in their certificates, or an identity."""

    title = forms.CharField(max_length=100, help_text="What the key or name is, for readers.")
    public_key = forms.CharField(
        label="Public key", max_length=_MOST_PEM, required=False, widget=_PEM,
        help_text="PEM, as openssl pkey -in key.pem -pubout writes it.",
    )  # fmt: skip
    authorities = forms.CharField(
        label="Certificate authorities", max_length=_MOST_PEM, required=False, widget=_PEM,
        help_text="PEM; in place of a key.",
    )  # fmt: skip
    name = forms.CharField(
        label="Name in certificates", max_length=500, required=False,
        help_text="E-mail address, URI, host name or subject; every name if empty.",
    )  # fmt: skip
    identity_issuer = forms.CharField(
        label="Issuer of the identity", max_length=500, required=False,
        help_text="OpenID Connect provider, for signatures without a key; with a name.",
    )  # fmt: skip


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def signers(request: HttpRequest, slug: str) -> HttpResponse:
    """The signers of a namespace for its members; owners declare one."""
    namespace = people_selectors.own_namespace(request.user, slug)
    form = SignerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row, _ = services.declare(request.user, namespace=namespace, **form.cleaned_data)
        except (problems.InvalidRequest, problems.StateConflict) as problem:
            explain(form, problem)
        else:
            messages.success(request, f"Signatures of {row.title} count now.")
            return _back(namespace.slug)
    context = {
        "namespace": namespace,
        "signers": selectors.signers(request.user, namespace),
        "may_edit": can(request.user, "namespace.edit", namespace),
    }
    return page(request, "signatures/signers.html", form, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, slug: str, signer_id: int) -> HttpResponse:
    """Ask once, naming the signer; then remove it."""
    namespace = people_selectors.own_namespace(request.user, slug)
    signer = selectors.signer(namespace, signer_id)
    if request.method != "POST":
        context = {"namespace": namespace, "signer": signer}
        return render(request, "signatures/remove.html", context)
    services.remove(request.user, namespace=namespace, signer=signer)
    messages.success(request, f"Signatures of {signer.title} do not count any more.")
    return _back(namespace.slug)


def _back(slug: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("signers", args=[slug]))
