"""Addresses of packages below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from runners.packages import api

urlpatterns = [
    path(
        "models/<str:namespace>/<str:name>/versions/<number:number>/package",
        api.VersionPackages.as_view({"get": "read"}),
    ),
]
