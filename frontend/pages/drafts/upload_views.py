"""Making a model or a version: names first, then files, then its draft's own page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods

from frontend.presenters import forms, multipart, version_head
from frontend.presenters.forms import ModelForm, VersionForm
from hub.protocol import problems
from hub.protocol.vocabularies import LICENCES
from registry.core.permissions import require
from registry.models import RegisteredModel, Version
from registry.people import selectors as people_selectors
from registry.versions import selectors
from registry.versions.services import registered_models, versions

DESCRIBED = ("visibility", "license", "task", "summary")


@multipart.limited
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_model(request: HttpRequest) -> HttpResponse:
    mine = people_selectors.publishing_namespaces(request.user)
    form = ModelForm(request.POST or None, request.FILES or None, namespaces=mine)
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        try:
            # Both or none: a model without its draft would keep the name from a second try.
            with transaction.atomic():
                model = registered_models.create(
                    request.user,
                    namespace=people_selectors.namespace(fields["namespace"]),
                    name=fields["name"],
                    **{field: fields[field] for field in DESCRIBED},
                )
                version = _draft(request, model, fields)
            return _filled(request, version, fields)
        except (problems.NameTaken, problems.NameRetired) as problem:
            forms.explain(form, problem, "name")
        except problems.Problem as problem:
            forms.explain(form, problem)
    return _page(request, form, {"namespaces": mine, "licences": LICENCES})


@multipart.limited
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_version(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    model = selectors.model(request.user, namespace, name)
    require(request.user, "version.draft", model)
    form = VersionForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        with forms.explained(form):
            version = _draft(request, model, form.cleaned_data)
            return _filled(request, version, form.cleaned_data)
    return _page(request, form, {"model": model, "api_url": f"/api/v1/models/{model.ref}"})


def _draft(request: HttpRequest, model: RegisteredModel, fields: dict[str, Any]) -> Version:
    return versions.draft(
        request.user, model=model, message=fields["message"], label=fields["label"]
    )


def _filled(request: HttpRequest, version: Version, fields: dict[str, Any]) -> HttpResponse:
    for refusal in multipart.take(request.user, version, fields["file"]):
        messages.error(request, refusal)
    return HttpResponseRedirect(version_head.place(version, "draft"))


def _page(request: HttpRequest, form: VersionForm, more: dict[str, Any]) -> HttpResponse:
    limits = {"form_bytes": multipart.FORM_BYTES, "file_bytes": settings.HUB_LIMITS_FILE_BYTES}
    return forms.page(request, "drafts/upload.html", form, more | limits)
