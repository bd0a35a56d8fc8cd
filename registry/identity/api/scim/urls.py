"""The addresses of SCIM. No namespace may be called `scim`."""

from __future__ import annotations

from django.urls import path

from registry.identity.api.scim import views

urlpatterns = [
    path("", views.Scim.as_view(), {"path": ""}, name="scim"),
    path("<path:path>", views.Scim.as_view()),
]
