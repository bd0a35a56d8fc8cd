"""Models to begin with: what packages hold, what is here, and a button for each."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from frontend.presenters.forms import as_message
from hub.protocol import problems
from registry.api.parameters import accepts
from runners.starter import imports, selectors


@accepts()
@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The models of the manifest with their states."""
    return render(request, "starter/models.html", {"rows": selectors.starter_models(request.user)})


@login_required
@require_POST
def request_import(request: HttpRequest, name: str) -> HttpResponse:
    """Queue the import of a model."""
    row = selectors.starter_model(request.user, name)
    with as_message(request, problems.StateConflict):
        imports.request(request.user, model=row.model)
        messages.success(request, f"The import of {name} is queued.")
    return HttpResponseRedirect(reverse("starter"))
