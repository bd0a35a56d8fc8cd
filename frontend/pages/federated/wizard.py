"""A new training in three steps: its settings, what follows from them, and an invitation.

The settings travel from step to step inside the form, so that nothing is stored before the end.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from frontend.pages.federated import consequences
from frontend.pages.federated import trainings as presenter
from frontend.pages.federated.forms import TrainingForm
from frontend.parts.addresses import whole
from frontend.presenters import forms
from registry.api.parameters import accepts
from registry.core.permissions import require
from registry.federated import attacks
from registry.federated.services import trainings
from registry.models import RegisteredModel, Version
from registry.versions import selectors as registry

VERSIONS_OFFERED = 100
CREATE, CHANGE = "create", "change"


@accepts("version")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """The settings of a training, then their review; ``step`` says what the form is sent for."""
    model = registry.model(request.user, namespace, name)
    require(request.user, "training.manage", model)
    published = registry.versions(request.user, model).filter(state=Version.State.PUBLISHED)
    versions = list(published.values_list("number", flat=True)[:VERSIONS_OFFERED])
    step = request.POST.get("step", "")
    form = TrainingForm(
        request.POST or None,
        versions=versions,
        initial={"version": whole(request.GET.get("version", ""))},
    )
    if request.method == "POST" and form.is_valid() and step != CHANGE:
        with forms.explained(form):
            return _next(request, model, form, step)
    context = {
        "section": "trainings",
        "model": model,
        "has_versions": bool(versions),
        "attacks": attacks.measured(),
        "withstands": presenter.withstands(),
        "caveat": attacks.CAVEAT,
    }
    return forms.page(request, "trainings/new.html", form, context)


def _next(
    request: HttpRequest, model: RegisteredModel, form: TrainingForm, step: str
) -> HttpResponse:
    """The review of valid settings, or the training; raises what the services refuse."""
    fields = form.cleaned_data
    settings = {
        "version": registry.version(
            request.user, model.namespace.slug, model.name, fields["version"]
        ),
        "base_data": fields["base_data"],
        "rules": form.rules,
        "schedule": form.schedule,
        "roles": form.roles,
    }
    if step == CREATE:
        training = trainings.create(
            request.user,
            **settings,
            title=fields["title"],
            hyperparameters=fields["hyperparameters"],
            **form.release,
        )
        place = [model.namespace.slug, model.name, training.number]
        return HttpResponseRedirect(reverse("training-invite", args=place))
    plan = trainings.plan(request.user, **settings)
    context = {
        "section": "trainings",
        "model": model,
        "title": fields["title"],
        "settings": [(name, request.POST[name]) for name in form.fields if name in request.POST],
        "effects": consequences.of(plan),
        **form.release,
    }
    return render(request, "trainings/review.html", context)
