"""The addresses of the pages of webhooks."""

from __future__ import annotations

from django.urls import path

from frontend.pages.webhooks import views
from registry.api import converters  # noqa: F401 - registers `number`

WEBHOOK = "account/webhooks/<number:webhook_id>"

urlpatterns = [
    path("account/webhooks", views.every, name="webhooks"),
    path(WEBHOOK, views.show, name="webhook"),
    path(f"{WEBHOOK}/act", views.act, name="webhook-act"),
]
