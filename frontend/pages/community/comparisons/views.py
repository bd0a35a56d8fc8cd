"""Saved comparisons: those of the reader, the page of one, and the forms that change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.compare import views as compare
from frontend.presenters import comparison as presenter
from frontend.presenters import forms
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.community.comparisons import selectors, services
from registry.models import SavedComparison

if TYPE_CHECKING:
    from uuid import UUID


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def every(request: HttpRequest) -> HttpResponse:
    """The comparisons of the reader; POST saves another, and leads back where it is refused."""
    if request.method == "POST":
        references = presenter.read(request.POST.getlist("m"))
        with forms.as_message(request, problems.InvalidRequest, problems.StateConflict):
            row = services.create(
                request.user, references=references, title=request.POST.get("title", "")
            )
            return _to(row)
        return HttpResponseRedirect(presenter.address(references))
    rows = selectors.comparisons(request.user)
    return render(request, "comparisons/list.html", {"comparisons": rows})


@accepts("chart")
@require_safe
def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The models of a comparison beside each other; those that the reader cannot see are counted.

    Its user also has the forms that share, rename and delete it.
    """
    row = selectors.comparison(request.user, uuid)
    references = selectors.references(request.user, row)
    context = {
        "saved": row,
        "is_own": row.user_id == request.user.pk,
        "link": f"{settings.HUB_PUBLIC_URL}{request.path}",
        "unavailable": len(row.compared_references.all()) - len(references),
        "sharing": SavedComparison.Sharing,
    }
    return compare.page(request, references, "comparisons/comparison.html", context)


@login_required
@require_POST
def change(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Share a comparison of the reader by its link, make it private again, or rename it."""
    row = selectors.comparison(request.user, uuid)
    sharing = request.POST.get("sharing", "")
    with forms.as_message(request, problems.InvalidRequest):
        if sharing and sharing not in SavedComparison.Sharing:
            raise problems.InvalidRequest.at("/sharing", "Choose private or link.")
        services.edit(
            request.user,
            comparison=row,
            title=request.POST.get("title", ""),
            sharing=sharing,
        )
    return _to(row)


@login_required
@require_POST
def delete(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Delete a comparison of the reader."""
    row = selectors.comparison(request.user, uuid)
    services.delete(request.user, comparison=row)
    messages.success(request, f"The comparison “{row.title}” is deleted.")
    return HttpResponseRedirect(reverse("saved-comparisons"))


def _to(row: SavedComparison) -> HttpResponse:
    return HttpResponseRedirect(reverse("saved-comparison", args=[row.pk]))
