"""The addresses of starter models."""

from __future__ import annotations

from django.urls import path

from frontend.pages.starter import views

urlpatterns = [
    path("administration/starter", views.show, name="starter"),
    path("administration/starter/<str:name>", views.request_import, name="starter-import"),
]
