"""A model's settings, and the page on which access to gated files is asked for and given."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.presenters.access_forms import (
    AskForm,
    AudienceForm,
    DescribeForm,
    GrantForm,
    MoveForm,
)
from frontend.presenters.forms import as_message, explained
from hub.protocol import problems
from hub.protocol.vocabularies import LICENCES
from registry.cards import names
from registry.core.permissions import can, require
from registry.models import AccessRequest, Mention, RegisteredModel
from registry.people import selectors as people_selectors
from registry.versions import deprecations, selectors
from registry.versions.gate_terms import GateTerms
from registry.versions.services import access, registered_models
from registry.versions.services import names as confirmations

# Requests shown of each state.
LISTED_USERS = 200


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Description, visibility, file access and name of a model."""
    model = selectors.model(request.user, namespace, name)
    require(request.user, "model.edit", model)
    spaces = [space for space, _ in people_selectors.namespaces_of(request.user, "writer")]
    described = {field: getattr(model, field) for field in ("license", "task", "summary")}
    described["keywords"] = ", ".join(map(str, model.keywords))
    sent = request.POST.get("form", "audience") if request.method == "POST" else ""
    move = MoveForm(
        request.POST if sent == "move" else None,
        namespaces=spaces,
        initial={"namespace": model.namespace.slug, "name": model.name},
    )
    describe = DescribeForm(
        request.POST if sent == "describe" else None, task=model.task, initial=described
    )
    audience = AudienceForm(
        request.POST if sent == "audience" else None,
        initial={"visibility": model.visibility, "gate": model.gate},
    )
    if sent == "names":
        return _confirm(request, model)
    form = {"move": move, "describe": describe}.get(sent, audience)
    if request.method == "POST" and form.is_valid():
        with explained(form):
            model = _save(request, model, form)
            return HttpResponseRedirect(
                reverse("model-settings", args=[model.namespace.slug, model.name])
            )
    return render(
        request,
        "models/settings.html",
        {
            "section": "models",
            "model": model,
            "move": move,
            "audience": audience,
            "describe": describe,
            "licences": LICENCES,
            "may_move": can(request.user, "model.move", model),
            "deprecation": deprecations.of(request.user, model),
            "former": model.former_names.exclude(spelt=""),
            "names": names.of_model(request.user, model),
        },
        status=422 if form.errors else 200,
    )


def _confirm(request: HttpRequest, model: RegisteredModel) -> HttpResponse:
    kind, _, name = request.POST.get("name", "").partition(":")
    target = request.POST.get("target", "").strip()
    with as_message(request, problems.Problem):
        if kind not in Mention.Kind.values:
            raise problems.InvalidRequest("Choose a name.")
        if target:
            confirmations.confirm(
                request.user, model=model, kind=Mention.Kind(kind), name=name, target=target
            )
        else:
            confirmations.withdraw(request.user, model=model, kind=Mention.Kind(kind), name=name)
    address = reverse("model-settings", args=[model.namespace.slug, model.name])
    return HttpResponseRedirect(f"{address}#names")


@require_safe
def show(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Who may have the files of a model; the form that asks, or the people who asked."""
    model = selectors.model(request.user, namespace, name)
    return _page(request, model, AskForm(), GrantForm())


@login_required
@require_POST
def ask(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Ask for the files."""
    model = selectors.model(request.user, namespace, name)
    form = AskForm(request.POST)
    if form.is_valid():
        try:
            access_request = access.ask(
                request.user,
                model=model,
                message=form.cleaned_data["message"],
                terms_sha256=request.POST.get("terms", "")[:64],
            )
        except problems.StateConflict as problem:
            form.add_error(None, problem.detail)
        else:
            is_in = access_request.status == AccessRequest.Status.ACCEPTED
            words = "You have access to the files." if is_in else "Your request is pending."
            messages.success(request, words)
            return _back(model)
    return _page(request, model, form, GrantForm())


@login_required
@require_POST
def withdraw(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Take one's own request back."""
    model = selectors.model(request.user, namespace, name)
    with as_message(request, problems.Problem):
        access.withdraw(request.user, model=model)
        messages.success(request, "Your request is cancelled.")
    if not RegisteredModel.objects.visible_to(request.user).filter(pk=model.pk).exists():
        return HttpResponseRedirect(reverse("models"))
    return _back(model)


@login_required
@require_POST
def decide(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Grant or deny an access request, or make it pending again."""
    model = selectors.model(request.user, namespace, name)
    username, status = request.POST.get("user", ""), request.POST.get("status", "")
    reason = request.POST.get("reason", "") if status == AccessRequest.Status.REJECTED else ""
    with as_message(request, problems.InvalidRequest, problems.NotFound):
        access.decide(request.user, model=model, username=username, status=status, reason=reason)
        done = {"accepted": "granted", "rejected": "denied", "pending": "pending again"}[status]
        messages.success(request, f"The request of {username} is {done}.")
    return _back(model)


@login_required
@require_POST
def grant(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Grant access to a user who has not requested it."""
    model = selectors.model(request.user, namespace, name)
    require(request.user, "access.decide", model)
    form = GrantForm(request.POST)
    if form.is_valid():
        username = form.cleaned_data["user"]
        try:
            access.grant(request.user, model=model, username=username)
        except problems.NotFound as problem:
            form.add_error("user", problem.detail)
        else:
            messages.success(request, f"{username} has access.")
            return _back(model)
    return _page(request, model, AskForm(), form)


def _page(
    request: HttpRequest, model: RegisteredModel, form: AskForm, letting_in: GrantForm
) -> HttpResponse:
    decides = can(request.user, "access.decide", model)
    rows = (
        list(selectors.access_requests(request.user, model)[: 3 * LISTED_USERS]) if decides else []
    )
    newest = selectors.latest(request.user, model)
    card = newest.card if newest else {}
    return render(
        request,
        "models/access.html",
        {
            "section": "models",
            "model": model,
            "terms": GateTerms.read(card),
            "said": _card_facts(card),
            "own": selectors.own_access_request(request.user, model),
            "may_have": selectors.may_have_files(request.user, model),
            "decides": decides,
            "groups": [
                (status, [row for row in rows if row.status == status][:LISTED_USERS])
                for status in AccessRequest.Status.values
            ],
            "form": form,
            "grant": letting_in,
        },
        status=422 if form.errors or letting_in.errors else 200,
    )


def _card_facts(card: dict[str, Any]) -> dict[str, Any]:
    """What a card says of the form (`extra_gated_…`): text only, never a form."""
    button, fields = card.get("extra_gated_button_content"), card.get("extra_gated_fields")
    labels = [str(name)[:200] for name in fields][:20] if isinstance(fields, dict) else []
    return {"button": button[:200] if isinstance(button, str) else "", "fields": labels}


def _save(request: HttpRequest, model: RegisteredModel, form: forms.Form) -> RegisteredModel:
    fields = form.cleaned_data
    if isinstance(form, MoveForm):
        space = people_selectors.namespace(fields["namespace"])
        moved = registered_models.move(
            request.user, model=model, namespace=space, name=fields["name"]
        )
        messages.success(request, f"The model is now {moved.ref}.")
        return moved
    edited = registered_models.edit(request.user, model=model, **fields)
    messages.success(request, "Saved.")
    return edited


def _back(model: RegisteredModel) -> HttpResponse:
    return HttpResponseRedirect(reverse("model-access", args=[model.namespace.slug, model.name]))
