"""The API of this hub to read and to try, in Swagger UI; see docs/decisions/0076-api-console.md."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hub.protocol import problems
from registry.api.parameters import accepts


@accepts()
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; 404 where the package of Swagger UI is not installed."""
    if not settings.STATICFILES_DIRS:
        raise problems.NotFound(
            "The API console needs the package drf-spectacular-sidecar, which is not installed. "
            "The schema is at /api/v1/schema."
        )
    return render(request, "api_docs.html", {"section": "api"})
