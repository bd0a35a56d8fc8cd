"""Ending a version or a model: each asks once, names the thing, and says what stays."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters import forms
from frontend.presenters.access_forms import DeletionForm, EndForm
from frontend.presenters.version_page import of_version
from hub.protocol import problems
from registry.core.permissions import require
from registry.models import Version
from registry.versions import dependents, selectors
from registry.versions.services import registered_models, versions


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
@of_version
def version(request: HttpRequest, version: Version, act: str) -> HttpResponse:
    """Yank, restore or withdraw a version; raises StateConflict where that is not to be done."""
    action = ACTS[act]
    require(request.user, action.permission, version.model)
    if version.state not in action.states:
        raise problems.StateConflict(
            f"{version.ref} is {version.state}; to {act} it, it must be "
            f"{' or '.join(action.states)}.",
            state=version.state,
        )
    form = EndForm(request.POST if request.method == "POST" else None)
    uses = [] if act == "restore" else dependents.dependents(request.user, version)
    if request.method == "POST" and (act == "restore" or form.is_valid()):
        try:
            if act == "restore":
                versions.restore(request.user, version=version)
            else:
                change = versions.yank if act == "yank" else versions.withdraw
                change(
                    request.user,
                    version=version,
                    reason=form.cleaned_data["reason"],
                    breaks_dependents="breaks_dependents" in request.POST,
                )
            messages.success(request, f"{version.ref} {action.done}.")
            place = [version.model.namespace.slug, version.model.name]
            return HttpResponseRedirect(reverse("model-versions", args=place))
        except (problems.InvalidRequest, problems.StateConflict) as problem:
            form.add_error("reason", problem.detail)
    context = {"section": "models", "version": version, "act": act, "dependents": uses}
    return forms.page(request, "models/end_version.html", form, context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def model(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Delete a model, once its owner has read what goes and what stays."""
    row = selectors.model(request.user, namespace, name)
    require(request.user, "model.delete", row)
    form = DeletionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        registered_models.delete(request.user, model=row, **form.cleaned_data)
        messages.success(request, f"{row.ref} is deleted.")
        return HttpResponseRedirect(reverse("models"))
    count = selectors.versions(request.user, row).count()
    context = {"section": "models", "model": row, "count": count}
    return forms.page(request, "models/delete.html", form, context)
