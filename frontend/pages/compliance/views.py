"""The compliance report of a version as a page and as JSON; printed, the page is a document."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.pages.compliance import report
from frontend.presenters.version_page import context, of_whole_version
from registry.models import Version


@require_safe
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    """The report under its headings, with what is unknown at the end."""
    model = version.model
    place = [model.namespace.slug, model.name, version.number]
    return render(
        request,
        "compliance/report.html",
        {
            **context(request, version, "compliance"),
            "report": report.read(request.user, version),
            "json_url": reverse("version-compliance-json", args=place),
        },
    )


@require_safe
@of_whole_version
def document(request: HttpRequest, version: Version) -> JsonResponse:
    """The same facts for programs."""
    of = report.read(request.user, version)
    sections = [asdict(section) | {"is_known": section.is_known} for section in of.sections]
    return JsonResponse(
        {"version": version.ref, "state": version.state, "sections": sections,
         "unknown": of.unknown}
    )  # fmt: skip
