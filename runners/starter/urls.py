"""Addresses of starter models below /api/v1."""

from __future__ import annotations

from django.urls import path

from runners.starter import api

urlpatterns = [
    path("starter", api.StarterModels.as_view({"get": "index"})),
    path(
        "starter/<str:name>", api.StarterModels.as_view({"get": "read", "post": "request_import"})
    ),
]
