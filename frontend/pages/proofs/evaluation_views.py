"""Asking for an evaluation of a version on a split of a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.presenters import forms, version_head
from frontend.presenters.evaluation_forms import EvaluationForm
from frontend.presenters.version_page import context, of_whole_version
from hub.protocol import problems
from registry.core.permissions import require
from registry.datasets import selectors as datasets
from registry.versions import selectors
from runners.evaluations import scheduling

if TYPE_CHECKING:
    from registry.models import Version


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@of_whole_version
def request_evaluation(request: HttpRequest, version: Version) -> HttpResponse:
    """The form for an evaluation; POST leads to its job."""
    require(request.user, "version.derive", version.model)
    selectors.require_served(version, "versions are evaluated")
    template_context = context(request, version, "overview")
    variant = template_context["variant"]
    form = EvaluationForm(
        request.POST or None,
        datasets=datasets.evaluable(),
        variants=version_head.variants(version),
        initial={"variant": variant.name if variant else ""},
    )
    if request.method == "POST" and form.is_valid():
        dataset, split = form.cleaned_data["split"]
        variant_name = form.cleaned_data["variant"]
        try:
            job = scheduling.request(
                request.user, version=version, dataset=dataset, split=split, variant=variant_name
            )
            return HttpResponseRedirect(reverse("job", args=[job.pk]))
        except (problems.InvalidRequest, problems.StateConflict) as problem:
            forms.explain(form, problem)
    return forms.page(request, "models/evaluate.html", form, template_context)
