"""The addresses of compliance reports."""

from __future__ import annotations

from django.urls import path

from frontend.pages.compliance import views
from frontend.parts.caching import page
from frontend.parts.patterns import VERSION

urlpatterns = [
    path(f"{VERSION}/compliance", page(views.show), name="version-compliance"),
    path(f"{VERSION}/compliance.json", page(views.document), name="version-compliance-json"),
]
