"""Ending a version or a model: each asks once, names the thing, and says what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters.access_forms import EndForm
from hub.protocol import problems
from registry.core.permissions import require
from registry.versions import selectors
from registry.versions.services import registered_models, versions

if TYPE_CHECKING:
    from django.http import HttpRequest

    from registry.models import Version


class Act(NamedTuple):
    """One way to change the state of a published version."""

    permission: str
    states: tuple[str, ...]
    done: str


ACTS = {
    "yank": Act("version.yank", ("published",), "is yanked"),
    "restore": Act("version.yank", ("yanked",), "is restored"),
    "withdraw": Act("version.withdraw", ("published", "yanked"), "is withdrawn"),
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def version(request: HttpRequest, namespace: str, name: str, number: int, act: str) -> HttpResponse:
    """Yank, restore or withdraw a version; raises StateConflict where that is not to be done."""
    found = selectors.version(request.user, namespace, name, number)
    asked = ACTS[act]
    require(request.user, asked.permission, found.model)
    if found.state not in asked.states:
        raise problems.StateConflict(
            f"{found.ref} is {found.state}; to {act} it, it must be {' or '.join(asked.states)}.",
            state=found.state,
        )
    form = EndForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and (act == "restore" or form.is_valid()):
        try:
            _change(request, found, act, form)
            messages.success(request, f"{found.ref} {asked.done}.")
            return HttpResponseRedirect(reverse("model-versions", args=[namespace, name]))
        except problems.InvalidRequest as problem:
            form.add_error("reason", problem.detail)
    return render(
        request,
        "models/end_version.html",
        {"section": "models", "version": found, "act": act, "form": form},
        status=422 if form.errors else 200,
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def model(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Delete a model, once its owner has read what goes and what stays."""
    found = selectors.model(request.user, namespace, name)
    require(request.user, "model.delete", found)
    if request.method == "POST":
        registered_models.delete(request.user, model=found)
        messages.success(request, f"{found.ref} is deleted.")
        return HttpResponseRedirect(reverse("models"))
    count = selectors.versions(request.user, found).count()
    return render(
        request,
        "models/delete.html",
        {"section": "models", "model": found, "count": count},
    )


def _change(request: HttpRequest, found: Version, act: str, form: EndForm) -> None:
    if act == "restore":
        versions.restore(request.user, version=found)
        return
    change = versions.yank if act == "yank" else versions.withdraw
    change(request.user, version=found, reason=form.cleaned_data["reason"])
