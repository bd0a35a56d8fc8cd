"""The addresses of SCIM. No namespace may be called `scim`."""

from __future__ import annotations

from django.urls import re_path

from registry.identity.scim import views

urlpatterns = [re_path(r"^(?P<path>.*)$", views.Scim.as_view(), name="scim")]
