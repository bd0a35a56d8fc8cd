"""Deprecating a model or a version, and undoing that."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters import forms
from frontend.presenters.access_forms import DeprecationForm
from frontend.presenters.version_page import of_version
from hub.protocol import problems
from registry.core.permissions import require
from registry.models import RegisteredModel, Version
from registry.versions import deprecations, selectors
from registry.versions.services.deprecations import deprecate, undeprecate

ACTS = (UNDO, _) = ("undeprecate", "deprecate")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@of_version
def version(request: HttpRequest, version: Version, act: str) -> HttpResponse:
    """Deprecate a version, or undo that."""
    require(request.user, "version.deprecate", version.model)
    place = [version.model.namespace.slug, version.model.name]
    return _page(request, version, act, reverse("model-versions", args=place))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def model(request: HttpRequest, namespace: str, name: str, act: str) -> HttpResponse:
    """Deprecate a model, or undo that."""
    row = selectors.model(request.user, namespace, name)
    require(request.user, "version.deprecate", row)
    return _page(request, row, act, reverse("model-settings", args=[row.namespace.slug, row.name]))


def _page(
    request: HttpRequest, subject: RegisteredModel | Version, act: str, back: str
) -> HttpResponse:
    is_undo = act == UNDO
    notice = deprecations.of(request.user, subject)
    if is_undo and notice is None:
        raise problems.StateConflict(f"{subject.ref} is not deprecated.")
    initial = {"message": notice.message, "successor": notice.successor} if notice else None
    form = DeprecationForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and (is_undo or form.is_valid()):
        with forms.explained(form):
            if is_undo:
                undeprecate(request.user, subject)
                messages.success(request, f"{subject.ref} is no longer deprecated.")
            else:
                deprecate(request.user, subject, **form.cleaned_data)
                messages.success(request, f"{subject.ref} is deprecated.")
            return HttpResponseRedirect(back)
    question = f"Undo the deprecation of {subject.ref}?" if is_undo else f"Deprecate {subject.ref}?"
    context = {
        "section": "models",
        "subject": subject,
        "is_undo": is_undo,
        "title": question,
        "button": question.removesuffix("?"),
        "back": back,
    }
    return forms.page(request, "models/deprecate.html", form, context)
