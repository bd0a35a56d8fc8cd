"""What tokens may delete in a namespace, and the models that they deleted."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from frontend.parts.addresses import whole
from frontend.presenters.forms import as_message
from hub.protocol import problems
from registry.people import selectors as people_selectors
from registry.people.services import namespaces
from registry.versions import selectors
from registry.versions.services import deletions, registered_models


@login_required
@require_POST
def setting(request: HttpRequest, slug: str) -> HttpResponse:
    """Allow or forbid tokens of scope `write` to delete and move models of a namespace."""
    space = people_selectors.own_namespace(request.user, slug)
    namespaces.edit(request.user, namespace=space, allows_token_deletion="allow" in request.POST)
    messages.success(request, "Saved.")
    return _back(slug)


@login_required
@require_POST
def deleted_model(request: HttpRequest, slug: str, model_id: str) -> HttpResponse:
    """Restore a deleted model, or delete it permanently."""
    space = people_selectors.own_namespace(request.user, slug)
    model = selectors.deleted_model(request.user, space, whole(model_id, 18) or 0)
    with as_message(request, problems.StateConflict, problems.NameTaken):
        if "erase" in request.POST:
            deletions.erase(request.user, model=model)
            messages.success(request, f"{model.ref} is deleted permanently.")
        else:
            registered_models.restore(request.user, model=model)
            messages.success(request, f"{model.ref} is restored.")
    return _back(slug)


def _back(slug: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('namespace', args=[slug])}#deletions")
