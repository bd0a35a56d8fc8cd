"""The addresses of trusted publishers."""

from __future__ import annotations

from django.urls import path

from registry.publishers.api import views

PLACE = "namespaces/<str:slug>/publishers"

urlpatterns = [
    path("publishers/token", views.PublisherTokens.as_view({"post": "exchange"})),
    path(PLACE, views.Publishers.as_view({"get": "index", "post": "create"})),
    path(f"{PLACE}/<number:key>", views.Publishers.as_view({"delete": "delete_publisher"})),
]
