"""Addresses of webhooks below /api/v1."""

from __future__ import annotations

from django.urls import path

from registry.api import converters  # noqa: F401 - registers `number`
from registry.webhooks.api import views

WEBHOOK = "webhooks/<number:webhook_id>"

urlpatterns = [
    path("webhooks", views.Webhooks.as_view({"get": "index", "post": "create"})),
    path(WEBHOOK, views.Webhooks.as_view({"get": "read", "patch": "edit", "delete": "remove"})),
    path(f"{WEBHOOK}/secret", views.Webhooks.as_view({"post": "rotate"})),
    path(f"{WEBHOOK}/deliveries", views.Webhooks.as_view({"get": "deliveries"})),
    path(
        f"{WEBHOOK}/deliveries/<number:delivery_id>/replay",
        views.Deliveries.as_view({"post": "replay"}),
    ),
]
