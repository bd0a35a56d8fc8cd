"""The addresses of the page of trusted publishers."""

from __future__ import annotations

from django.urls import path

from frontend.pages.publishers import views

PLACE = "account/namespaces/<str:slug>/publishers"

urlpatterns = [
    path(PLACE, views.index, name="publishers"),
    path(f"{PLACE}/<number:key>/delete", views.delete, name="publisher-delete"),
]
