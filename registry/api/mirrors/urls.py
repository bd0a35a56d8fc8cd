"""Addresses of mirrors below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from registry.api.mirrors import views

urlpatterns = [
    path("mirrors", views.MirrorList.as_view()),
    path("mirrors/import", views.ImportList.as_view()),
    path("mirrors/<number:mirror_id>", views.MirrorDetail.as_view()),
    path("mirrors/<number:mirror_id>/sync", views.MirrorSync.as_view()),
]
