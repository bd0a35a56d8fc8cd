"""Addresses of mirrors below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from registry.api.mirrors import views

MIRROR = "mirrors/<number:mirror_id>"

urlpatterns = [
    path("mirrors", views.Mirrors.as_view({"get": "index", "post": "create"})),
    path("mirrors/import", views.Imports.as_view({"post": "create"})),
    path(MIRROR, views.Mirrors.as_view({"get": "read", "patch": "edit", "delete": "remove"})),
    path(f"{MIRROR}/sync", views.Mirrors.as_view({"post": "sync"})),
]
